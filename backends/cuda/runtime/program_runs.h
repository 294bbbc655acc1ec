// A compiled graph on the device. One call of run() submits three runs: a traced run; the same again on
// another stream, in memory that was filled with other bytes before; and a production run, which reuses
// memory and uses two streams as a real executor does. All three must agree bit for bit, and guard zones must
// be intact; recheck() reports whether that held.
#pragma once

#include <memory>

#include "backends/backend.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/memory_plan.h"

namespace fusesmith::backends {

// The launches of one region.
struct DeviceRegion {
  std::vector<Launch> launches;
  std::vector<int> temporaries;  // buffer ids
};

std::unique_ptr<Program> make_device_program(const Graph& graph, const Plan& plan,
                                             std::vector<DeviceRegion> regions, const BufferTable& table);

// For benchmarks; `program` must come from a CUDA backend. The mean time of `repeats` production runs without
// checks, after one warm-up run.
double production_microseconds(Program& program, std::span<const TensorPtr> inputs, int repeats);
// The number of launches of one such run.
size_t launch_count(const Program& program);

}  // namespace fusesmith::backends
