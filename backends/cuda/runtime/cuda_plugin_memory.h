// Device memory for the tensors of a plug-in that computes on the GPU.
#pragma once

#include "backends/plugin_memory.h"

namespace fusesmith::backends {

// On device 0, with a stream that does not wait for the default stream.
Result<std::unique_ptr<PluginMemory>> make_cuda_plugin_memory();

}  // namespace fusesmith::backends
