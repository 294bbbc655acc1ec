// AttentionBackward through attention_backward.cu.
#include "backends/cuda/emit/dtype_storage.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda_fused/attention/attention_backward.h"
#include "backends/cuda_fused/emit/attention_operands.h"
#include "backends/cuda_fused/emit/kernel_faults.h"

namespace fusesmith::backends {
namespace {

using BackwardFlags = AttentionBackwardFaults;
constexpr FaultFlag<BackwardFlags> kBackwardFlags[] = {
    {"attention_backward_without_delta", &BackwardFlags::without_delta},
    {"delta_of_first_query", &BackwardFlags::first_delta},
    {"delta_in_bf16", &BackwardFlags::narrow_delta},
    {"gradient_scale_on_dq_alone", &BackwardFlags::scaled_dq_alone},
    {"gradient_scale_twice_on_dq", &BackwardFlags::scaled_twice},
    {"hidden_scores_are_zero_in_backward", &BackwardFlags::hidden_as_zero},
    {"diagonal_hidden_in_backward", &BackwardFlags::no_diagonal},
    {"logsumexp_without_maximum", &BackwardFlags::no_maximum},
    {"logsumexp_of_previous_query", &BackwardFlags::previous_row},
    {"last_key_tile_not_in_dq", &BackwardFlags::no_key_tail},
    {"last_query_tile_not_in_dk", &BackwardFlags::no_query_tail},
    {"dv_columns_by_key_width", &BackwardFlags::columns_of_keys},
    {"probabilities_in_bf16_for_dv", &BackwardFlags::narrow_p},
    {"dk_of_last_query_tile", &BackwardFlags::last_queries},
    {"dq_tail_not_written", &BackwardFlags::no_dq_tail},
};

AttentionFactor factor_of(const std::optional<Scale>& scale) {
  using Kind = AttentionFactor::Kind;
  if (!scale) return {Kind::none, 1, nullptr, Storage::f32};
  return {scale->inverse ? Kind::divide : Kind::multiply, static_cast<float>(scale->factor), nullptr,
          Storage::f32};
}

}  // namespace

Emitted emit_fused(const AttentionBackward& op, const FusedScope& scope, DeviceTensors outs,
                   Emitter& emitter) {
  if (op.attention.batch.size() > size_t{kMaxAxes}) return false;
  AttentionBuffers buffers;
  AttentionBackwardParams params{};
  params.attention = attention_params(op.attention, scope, buffers);
  params.dy = matrix_of(op.dy, op.attention.width, scope);
  params.gradient_scale = factor_of(op.gradient_scale);
  const auto out = [&](int place) { return outs[static_cast<size_t>(place)]; };
  params.storage = storage_of(out(op.dq).type.dtype);
  params.faults = kernel_faults(scope, kBackwardFlags);
  const int64_t bytes = element_count(op.attention.batch) * op.attention.queries * int64_t{sizeof(float)};
  const Buffer logsumexp = emitter.temporary(bytes), delta = emitter.temporary(bytes);
  const Buffer dq = out(op.dq).buffer, dk = out(op.dk).buffer, dv = out(op.dv).buffer;
  emitter.launch([=, dy = scope.at(op.dy.value).buffer](const LaunchContext& at) {
    AttentionBackwardParams placed = params;
    place(buffers, at, placed.attention);
    placed.dy.data = at.at(dy);
    placed.dq = at.at(dq);
    placed.dk = at.at(dk);
    placed.dv = at.at(dv);
    placed.logsumexp = static_cast<float*>(at.at(logsumexp));
    placed.delta = static_cast<float*>(at.at(delta));
    check_cuda(launch_attention_backward(placed, at.stream()), "kernel attention_backward");
  });
  return true;
}

// One warp sums a row, each lane every 32nd element.
SumOrder sum_order(const AttentionBackward&, OnGpu) { return {.rows = RowSums{32, 5}, .ieee = true}; }

}  // namespace fusesmith::backends
