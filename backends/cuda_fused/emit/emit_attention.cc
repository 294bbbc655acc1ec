// FusedAttention on the device: its operands as attention.h describes them. Regions whose heads are too large
// for a block of this device run node by node.
#include <algorithm>
#include <cmath>

#include "backends/cuda/emit/dtype_storage.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda_fused/attention/attention_tiles.h"
#include "backends/cuda_fused/emit/attention_operands.h"
#include "backends/cuda_fused/emit/emit_fused.h"
#include "backends/cuda_fused/emit/kernel_faults.h"

namespace fusesmith::backends {
namespace {

// Whether v can be read with k's batch strides without leaving its bounds.
bool reaches(const FusedAttention& op, const FusedScope& scope) {
  int64_t last = (op.keys - 1) * op.v.row + (op.width - 1) * op.v.column;
  for (size_t i = 0; i < op.batch.size(); ++i) last += (op.batch[i] - 1) * op.k.batch_strides[i];
  return last < element_count(scope.at(op.v.value).type);
}

using AttentionFlags = AttentionFaults;
constexpr FaultFlag<AttentionFlags> kAttentionFlags[] = {
    {"last_key_tile_not_masked", &AttentionFlags::last_key_tile_not_masked},
    {"extra_zero_logit", &AttentionFlags::extra_zero_logit},
    {"boolean_mask_as_additive", &AttentionFlags::boolean_mask_as_additive},
    {"scale_applied_twice", &AttentionFlags::scale_applied_twice},
    {"no_rescale", &AttentionFlags::no_rescale},
    {"running_max_starts_at_zero", &AttentionFlags::running_max_starts_at_zero},
    {"last_query_row_dropped", &AttentionFlags::last_query_row_dropped},
    {"attention_missing_barrier", &AttentionFlags::missing_barrier},
    {"attention_writes_past_last_row", &AttentionFlags::writes_past_last_row},
    {"attention_stale_shared_tail", &AttentionFlags::stale_shared_tail},
    {"softcap_after_mask", &AttentionFlags::softcap_after_mask},
    {"masked_with_lowest", &AttentionFlags::masked_with_lowest},
    {"softmax_sum_in_bf16", &AttentionFlags::softmax_sum_in_bf16},
    {"window_excludes_current_key", &AttentionFlags::current_key_hidden},
    {"scale_applied_to_mask", &AttentionFlags::scaled_mask},
    {"mask_row_counted_in_tile", &AttentionFlags::mask_row_in_tile},
    {"softcap_revives_padding", &AttentionFlags::cap_of_padding},
    {"hidden_tile_gives_nan", &AttentionFlags::unguarded_maximum},
    {"causal_tiles_end_at_first_query", &AttentionFlags::early_causal_end},
    {"splits_combined_without_rescale", &AttentionFlags::unscaled_splits},
    {"split_without_keys_gives_nan", &AttentionFlags::empty_split_is_nan},
    {"splits_weighted_by_maximum", &AttentionFlags::splits_by_maximum},
    {"split_partials_in_bf16", &AttentionFlags::narrow_partials},
    {"combine_batch_stride_zero", &AttentionFlags::combined_into_first},
    {"combine_row_step_is_depth", &AttentionFlags::unpadded_step},
    {"scale_sees_padding_rows", &AttentionFlags::shared_maximum},
};

// Faults of the emission and of the kernels.
void plant(const FusedAttention& op, const FusedScope& scope, AttentionParams& params,
           AttentionBuffers& buffers) {
  const auto planted = [&](std::string_view fault) { return scope.planted(fault); };
  params.faults = kernel_faults(scope, kAttentionFlags);
  if (planted("attention_tf32_for_ieee")) params.tf32 = true;
  if (planted("causal_top_left_for_bottom_right")) params.band.offset = 0;
  if (planted("causal_diagonal_off_by_one")) ++params.band.offset;
  if (planted("window_one_too_wide") && params.band.window > 0) ++params.band.window;
  if (planted("scale_by_padded_depth") && !buffers.score_scale) {
    constexpr int kPadded = 16;  // head sizes are padded to a multiple
    const auto depth = static_cast<float>(params.depth),
               padded = static_cast<float>((params.depth + kPadded - 1) / kPadded * kPadded);
    const bool divides = params.score_scale.kind == AttentionFactor::Kind::divide;
    params.score_scale.value *= std::sqrt(divides ? padded / depth : depth / padded);
  }
  if (planted("head_tail_skipped") && params.depth > 8) params.depth -= params.depth % 8;
  if (planted("mask_batch_index_dropped")) std::fill_n(params.mask.batch, kMaxAxes, 0);
  if (planted("scale_by_d_not_sqrt_d") && op.score_scale) {
    params.score_scale = {AttentionFactor::Kind::divide, static_cast<float>(op.depth), nullptr, Storage::f32};
    buffers.score_scale = {};
  }
  if (planted("attention_batch_stride_of_k_for_v") && reaches(op, scope)) {
    std::copy_n(params.k.batch, kMaxAxes, params.v.batch);
    params.v.vectors = false;
  }
}

}  // namespace

Emitted emit_fused(const FusedAttention& attention, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter) {
  if (attention.batch.size() > size_t{kMaxAxes}) return false;
  check(attention.key_tile <= kSmallestKeyTile, "attention: the contract counts fewer rescales than happen");
  AttentionBuffers buffers;
  AttentionParams params = attention_params(attention, scope, buffers);
  params.p_storage = storage_of(attention.p_dtype);
  params.out_storage = storage_of(out.type.dtype);
  params.tf32 = emitter.tf32();
  plant(attention, scope, params, buffers);
  const auto tile = choose_attention_tile(params, attention_device());
  if (!tile) return false;
  emitter.launch([params, buffers, to = out.buffer, tile = *tile](const LaunchContext& at) {
    AttentionParams placed = params;
    place(buffers, at, placed);
    placed.out = at.at(to);
    check_cuda(launch_attention(placed, tile, at.stream()), "kernel attention");
  });
  return true;
}

// At least 4 lanes share a row (attention_mma.cuh), each with up to 8 keys of a step; then 2 exchanges and up
// to 4 parts of split keys.
SumOrder sum_order(const FusedAttention&, OnGpu) { return {.rows = RowSums{4, 16}}; }

}  // namespace fusesmith::backends
