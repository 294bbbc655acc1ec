// FusedAttention on the device: its operands as attention.h describes them. Regions whose heads are too large
// for a block of this device run node by node.
#include <algorithm>
#include <cmath>

#include "backends/cuda/emit/dtype_storage.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda_fused/attention/attention_tiles.h"
#include "backends/cuda_fused/emit/emit_fused.h"
#include "backends/cuda_fused/emit/kernel_faults.h"

namespace fusesmith::backends {
namespace {

using Kind = AttentionMask::Kind;

// The buffers of the operands.
struct Buffers {
  Buffer q, k, v, out;
  std::optional<Buffer> mask{}, other{}, q_scale{}, k_scale{}, score_scale{};
};

AttentionMatrix matrix_of(const MatrixOperand& operand, int64_t columns, const FusedScope& scope) {
  const Dtype dtype = scope.at(operand.value).type.dtype;
  AttentionMatrix matrix{};
  matrix.storage = storage_of(dtype);
  matrix.row = static_cast<int>(operand.row);
  matrix.column = static_cast<int>(operand.column);
  const int64_t group = 16 / size_of(dtype);
  matrix.vectors = operand.column == 1 && columns % group == 0 && operand.row % group == 0;
  for (size_t i = 0; i < operand.batch_strides.size(); ++i) {
    matrix.batch[i] = static_cast<int>(operand.batch_strides[i]);
    matrix.vectors = matrix.vectors && operand.batch_strides[i] % group == 0;
  }
  return matrix;
}

AttentionFactor factor_of(const std::optional<AttentionScale>& scale, const FusedScope& scope,
                          std::optional<Buffer>& buffer) {
  AttentionFactor factor{AttentionFactor::Kind::none, 1, nullptr, Storage::f32};
  if (!scale) return factor;
  factor.kind = scale->divide ? AttentionFactor::Kind::divide : AttentionFactor::Kind::multiply;
  factor.value = static_cast<float>(scale->factor);
  if (scale->tensor) {
    const DeviceTensor& tensor = scope.at(*scale->tensor);
    factor.storage = storage_of(tensor.type.dtype);
    buffer = tensor.buffer;
  }
  return factor;
}

AttentionMaskKind kind_of(Kind kind) {
  static_assert(static_cast<int>(AttentionMaskKind::causal) == static_cast<int>(Kind::causal));
  static_assert(static_cast<int>(AttentionMaskKind::boolean) == static_cast<int>(Kind::boolean));
  static_assert(static_cast<int>(AttentionMaskKind::additive) == static_cast<int>(Kind::additive));
  static_assert(static_cast<int>(AttentionMaskKind::select) == static_cast<int>(Kind::select));
  return static_cast<AttentionMaskKind>(kind);
}

void set_mask(const FusedAttention& op, const FusedScope& scope, AttentionParams& params, Buffers& buffers) {
  const AttentionMask& mask = op.mask;
  params.mask_kind = kind_of(mask.kind);
  params.hidden = mask.hidden;
  const CausalMask& causal = mask.causal;
  params.band = {static_cast<int>(causal_offset(causal.alignment, causal.rows, causal.cols)),
                 static_cast<int>(causal.window), !causal.shows_future};
  if (mask.kind == Kind::boolean || mask.kind == Kind::additive || mask.kind == Kind::select) {
    params.mask = matrix_of(mask.mask, op.keys, scope);
    buffers.mask = scope.at(mask.mask.value).buffer;
  }
  if (mask.kind == Kind::select) {
    params.other = matrix_of(mask.other, op.keys, scope);
    buffers.other = scope.at(mask.other.value).buffer;
  }
}

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
void plant(const FusedAttention& op, const FusedScope& scope, AttentionParams& params, Buffers& buffers) {
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

IndexSpace space_of(const Shape& batch) {
  IndexSpace space{static_cast<int>(batch.size()), {}, static_cast<int>(element_count(batch))};
  std::transform(batch.begin(), batch.end(), space.sizes,
                 [](int64_t size) { return static_cast<int>(size); });
  return space;
}

void place(const Buffers& buffers, const LaunchContext& at, AttentionParams& params) {
  params.q.data = at.at(buffers.q);
  params.k.data = at.at(buffers.k);
  params.v.data = at.at(buffers.v);
  params.out = at.at(buffers.out);
  const auto address = [&](const std::optional<Buffer>& buffer) -> const void* {
    return buffer ? at.at(*buffer) : nullptr;
  };
  params.mask.data = address(buffers.mask);
  params.other.data = address(buffers.other);
  params.q_scale.tensor = address(buffers.q_scale);
  params.k_scale.tensor = address(buffers.k_scale);
  params.score_scale.tensor = address(buffers.score_scale);
}

}  // namespace

Emitted emit_fused(const FusedAttention& attention, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter) {
  if (attention.batch.size() > size_t{kMaxAxes}) return false;
  check(attention.key_tile <= kSmallestKeyTile, "attention: the contract counts fewer rescales than happen");
  AttentionParams params{};
  Buffers buffers{scope.at(attention.q.value).buffer, scope.at(attention.k.value).buffer,
                  scope.at(attention.v.value).buffer, out.buffer};
  params.batch = space_of(attention.batch);
  params.queries = static_cast<int>(attention.queries);
  params.keys = static_cast<int>(attention.keys);
  params.depth = static_cast<int>(attention.depth);
  params.width = static_cast<int>(attention.width);
  params.q = matrix_of(attention.q, attention.depth, scope);
  params.k = matrix_of(attention.k, attention.depth, scope);
  params.v = matrix_of(attention.v, attention.width, scope);
  params.q_scale = factor_of(attention.q_scale, scope, buffers.q_scale);
  params.k_scale = factor_of(attention.k_scale, scope, buffers.k_scale);
  params.score_scale = factor_of(attention.score_scale, scope, buffers.score_scale);
  params.softcap = static_cast<float>(attention.softcap);
  set_mask(attention, scope, params, buffers);
  params.p_storage = storage_of(attention.p_dtype);
  params.out_storage = storage_of(out.type.dtype);
  params.tf32 = emitter.tf32();
  plant(attention, scope, params, buffers);
  const auto tile = choose_attention_tile(params, attention_device());
  if (!tile) return false;
  emitter.launch([params, buffers, tile = *tile](const LaunchContext& at) {
    AttentionParams placed = params;
    place(buffers, at, placed);
    check_cuda(launch_attention(placed, tile, at.stream()), "kernel attention");
  });
  return true;
}

// At least 4 lanes share a row (attention_mma.cuh), each with up to 8 keys of a step; then 2 exchanges and up
// to 4 parts of split keys.
SumOrder sum_order(const FusedAttention&, OnGpu) { return {.rows = RowSums{4, 16}}; }

}  // namespace fusesmith::backends
