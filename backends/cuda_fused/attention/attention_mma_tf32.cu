#include "backends/cuda_fused/attention/attention_mma.cuh"

namespace fusesmith::backends {

cudaError_t launch_attention_tf32(const AttentionParams& params, AttentionTile tile, cudaStream_t stream) {
  return device::launch_mma<float>(params, tile, stream);
}

}  // namespace fusesmith::backends
