// Fused attention: out = softmax(mask(cap(scale (q_scale q) (k_scale k)^T))) v for every element of a batch.
// A block processes a tile of queries and iterates once over the keys, in tiles of at least 32, with a
// running maximum and sum in f32 (FlashAttention, Dao et al. 2022). Exponentials are rounded to p_storage
// before the second product; their sum is not. No key is skipped: NaN and infinities propagate as softmax and
// the products define it. If there are too few blocks for the device, the four warps of a block process the
// same queries, each with a quarter of every 128 keys, and merge their results at the end: that is one
// rescale more at the end, but a quarter of the rescales before.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/index_space.h"
#include "backends/cuda/kernels/key_band.h"
#include "backends/cuda_fused/attention/attention_shape.h"

namespace fusesmith::backends {

// A matrix for each element of the batch: element (i, r, c) is at offset batch . i + r row + c column.
struct AttentionMatrix {
  const void* data;
  Storage storage;
  int row, column;
  int batch[kMaxAxes];
  bool vectors;  // rows may be read 16 aligned bytes at a time
};

struct AttentionFactor {
  enum class Kind : int { none, multiply, divide };
  Kind kind;
  float value;
  const void* tensor;  // its one element replaces `value`; null: none
  Storage storage;
};

enum class AttentionMaskKind : int {
  none,
  causal,    // key j is -inf to query i when band.hides(i, j)
  boolean,   // -inf where the bool mask equals `hidden`
  additive,  // + mask
  select,    // other where the bool mask equals `hidden`
};

struct AttentionFaults {
  bool last_key_tile_not_masked, extra_zero_logit, boolean_mask_as_additive, scale_applied_twice, no_rescale,
      running_max_starts_at_zero, last_query_row_dropped, missing_barrier, writes_past_last_row,
      stale_shared_tail, softcap_after_mask, masked_with_lowest, softmax_sum_in_bf16, current_key_hidden,
      scaled_mask, mask_row_in_tile, cap_of_padding, unguarded_maximum, early_causal_end, shared_maximum;
  // of split keys
  bool unscaled_splits, empty_split_is_nan, splits_by_maximum, narrow_partials, combined_into_first,
      unpadded_step;
};

struct AttentionParams {
  IndexSpace batch;
  int queries, keys, depth, width;
  AttentionMatrix q, k, v;  // [queries, depth], [keys, depth], [keys, width]
  AttentionFactor q_scale, k_scale, score_scale;
  float softcap;  // scores become c tanh(scores / c) before the mask; 0: they stay
  AttentionMaskKind mask_kind;
  bool hidden;
  KeyBand band;
  AttentionMatrix mask, other;  // [queries, keys]
  Storage p_storage;
  void* out;  // contiguous, [batch, queries, width]
  Storage out_storage;
  bool tf32;  // products of f32 may round their inputs to tf32
  AttentionFaults faults;
};

// The tile must be the one that choose_attention_tile (attention_tiles.h) returns for these params.
cudaError_t launch_attention(const AttentionParams& params, AttentionTile tile, cudaStream_t stream);

// Called by launch_attention: one function per unit and storage.
cudaError_t launch_attention_fma(const AttentionParams& params, AttentionTile tile, cudaStream_t stream);
cudaError_t launch_attention_f16(const AttentionParams& params, AttentionTile tile, cudaStream_t stream);
cudaError_t launch_attention_bf16(const AttentionParams& params, AttentionTile tile, cudaStream_t stream);
cudaError_t launch_attention_tf32(const AttentionParams& params, AttentionTile tile, cudaStream_t stream);

}  // namespace fusesmith::backends
