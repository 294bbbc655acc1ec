#include "fuzz/run/plugin_device.h"

#ifdef FUSESMITH_HAS_CUDA
#include "backends/cuda/runtime/cuda_plugin_memory.h"
#endif

namespace fusesmith::fuzz {

Result<std::unique_ptr<PluginMemory>> make_plugin_device_memory() {
#ifdef FUSESMITH_HAS_CUDA
  return make_cuda_plugin_memory();
#else
  return Problem{"this build has no CUDA; configure with -DFUSESMITH_CUDA=ON"};
#endif
}

}  // namespace fusesmith::fuzz
