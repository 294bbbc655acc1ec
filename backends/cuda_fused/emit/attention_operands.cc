#include "backends/cuda_fused/emit/attention_operands.h"

#include <algorithm>

#include "backends/cuda/emit/dtype_storage.h"

namespace fusesmith::backends {
namespace {

using Kind = AttentionMask::Kind;

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

void set_mask(const FusedAttention& op, const FusedScope& scope, AttentionParams& params,
              AttentionBuffers& buffers) {
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

IndexSpace space_of(const Shape& batch) {
  IndexSpace space{static_cast<int>(batch.size()), {}, static_cast<int>(element_count(batch))};
  std::transform(batch.begin(), batch.end(), space.sizes,
                 [](int64_t size) { return static_cast<int>(size); });
  return space;
}

}  // namespace

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

AttentionParams attention_params(const FusedAttention& attention, const FusedScope& scope,
                                 AttentionBuffers& buffers) {
  AttentionParams params{};
  buffers.q = scope.at(attention.q.value).buffer;
  buffers.k = scope.at(attention.k.value).buffer;
  buffers.v = scope.at(attention.v.value).buffer;
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
  return params;
}

void place(const AttentionBuffers& buffers, const LaunchContext& at, AttentionParams& params) {
  params.q.data = at.at(buffers.q);
  params.k.data = at.at(buffers.k);
  params.v.data = at.at(buffers.v);
  const auto address = [&](const std::optional<Buffer>& buffer) -> const void* {
    return buffer ? at.at(*buffer) : nullptr;
  };
  params.mask.data = address(buffers.mask);
  params.other.data = address(buffers.other);
  params.q_scale.tensor = address(buffers.q_scale);
  params.k_scale.tensor = address(buffers.k_scale);
  params.score_scale.tensor = address(buffers.score_scale);
}

}  // namespace fusesmith::backends
