// A compiled graph on the device. One call of run() submits three runs at once: traced, the same again on
// another stream over memory that was filled with other bytes, and as a user would run it (memory used again,
// two streams). They must agree bit for bit; guard zones must be untouched. recheck() says whether it was so.
#pragma once

#include <memory>

#include "backends/backend.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/memory_plan.h"

namespace fusesmith::backends {

// What one region does, in launches over buffers.
struct DeviceRegion {
  std::vector<Launch> launches;
  std::vector<int> temporaries;  // buffer ids
};

std::unique_ptr<Program> make_device_program(const Graph& graph, const Plan& plan,
                                             std::vector<DeviceRegion> regions, const BufferTable& table);

// For benchmarks; `program` is of a CUDA backend. Mean time of `repeats` runs as a user would run it, without
// the checks, after one to warm up.
double production_microseconds(Program& program, std::span<const TensorPtr> inputs, int repeats);
// Launches of one such run.
size_t launch_count(const Program& program);

}  // namespace fusesmith::backends
