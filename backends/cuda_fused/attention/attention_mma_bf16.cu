#include "backends/cuda_fused/attention/attention_mma.cuh"

namespace fusesmith::backends {

cudaError_t launch_attention_bf16(const AttentionParams& params, cudaStream_t stream) {
  return device::launch_mma<__nv_bfloat16, 32>(params, stream);
}

}  // namespace fusesmith::backends
