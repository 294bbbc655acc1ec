// Injected faults of kernels: how one blocks the GPU, makes it fail, or takes all of its memory
// (backends/process_faults.h). Builds without faults have none.
#pragma once

#include <memory>

#include "backends/backend.h"

namespace fusesmith::backends {

// The program, before each of whose runs such a kernel is launched, or a fault of processes happens, if the
// fault is turned on and the graph has the trigger.
std::unique_ptr<Program> with_device_faults(std::unique_ptr<Program> program, const Graph& graph,
                                            const Faults& faults);

}  // namespace fusesmith::backends
