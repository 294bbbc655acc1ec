#include "backends/cuda_fused/attention/attention_mma.cuh"

namespace fusesmith::backends {

cudaError_t launch_attention_f16(const AttentionParams& params, AttentionTile tile, cudaStream_t stream) {
  return device::launch_mma<__half>(params, tile, stream);
}

}  // namespace fusesmith::backends
