// Runs a device program; see device_program.h for what a run is.
#pragma once

#include "backends/cuda/runtime/device_program.h"

namespace fusesmith::backends {

std::unique_ptr<Program> make_device_program(const Graph& graph, const Plan& plan,
                                             std::vector<DeviceRegion> regions, const BufferTable& table);

// For benchmarks; `program` is of a CUDA backend. Mean time of `repeats` runs as a user would run it, without
// the checks, after one to warm up.
double production_microseconds(Program& program, std::span<const TensorPtr> inputs, int repeats);
// Launches of one such run.
size_t launch_count(const Program& program);

}  // namespace fusesmith::backends
