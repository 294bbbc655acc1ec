#include "backends/cuda_fused/attention/attention_mma.cuh"

namespace fusesmith::backends {

cudaError_t launch_attention_tf32(const AttentionParams& params, cudaStream_t stream) {
  return device::launch_mma<float, 32>(params, stream);
}

}  // namespace fusesmith::backends
