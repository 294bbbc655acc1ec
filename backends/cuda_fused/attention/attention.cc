#include "backends/cuda_fused/attention/attention.h"

#include <cstdint>

namespace fusesmith::backends {

bool attention_fits_tensor_cores(const AttentionParams& p) {
  const Storage storage = p.q.storage;
  if (p.k.storage != storage || p.v.storage != storage || p.p_storage != storage) return false;
  if (storage == Storage::f32) return p.tf32;
  return p.q_scale.kind == AttentionFactor::Kind::none && p.k_scale.kind == AttentionFactor::Kind::none;
}

namespace {

int64_t processors() {
  static const int found = [] {
    int device = 0, count = 0;
    const bool known = cudaGetDevice(&device) == cudaSuccess &&
                       cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) == cudaSuccess;
    return known ? count : 0;
  }();
  return found;
}

int64_t blocks_of(const AttentionParams& p, int queries) {
  return int64_t{p.batch.count} * ((p.queries + queries - 1) / queries);
}

}  // namespace

bool attention_fills_device(const AttentionParams& p, int queries, int blocks_at_once) {
  return 4 * blocks_of(p, queries) >= 3 * processors() * blocks_at_once;
}

bool attention_splits_keys(const AttentionParams& p, int queries) {
  constexpr int kFewKeys = 128;
  return p.keys > kFewKeys && 2 * blocks_of(p, queries) <= processors();
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

}  // namespace fusesmith::backends
