#include "backends/cuda_fused/attention.h"

namespace fusesmith {

bool attention_fits_tensor_cores(const AttentionParams& p) {
  const Storage storage = p.q.storage;
  if (p.k.storage != storage || p.v.storage != storage || p.p_storage != storage) return false;
  if (storage == Storage::f32) return p.tf32;
  return p.q_scale.kind == AttentionFactor::Kind::none && p.k_scale.kind == AttentionFactor::Kind::none;
}

cudaError_t launch_attention(const AttentionParams& params, cudaStream_t stream) {
  if (!attention_fits_tensor_cores(params)) return launch_attention_fma(params, stream);
  switch (params.q.storage) {
    case Storage::f16:
      return launch_attention_f16(params, stream);
    case Storage::bf16:
      return launch_attention_bf16(params, stream);
    default:
      return launch_attention_tf32(params, stream);
  }
}

}  // namespace fusesmith
