// NormBackward through norm_backward.cu.
#include "backends/cuda/emit/dtype_storage.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda_fused/emit/emit_fused.h"
#include "backends/cuda_fused/emit/kernel_faults.h"
#include "backends/cuda_fused/rows/norm_backward.h"

namespace fusesmith::backends {

namespace {

using GradientFlags = NormBackwardFaults;
constexpr FaultFlag<GradientFlags> kGradientFlags[] = {
    {"gradient_of_mean_missing", &GradientFlags::no_mean},
    {"gradient_of_scale_missing", &GradientFlags::no_scale},
    {"gradient_of_mean_in_rms_norm", &GradientFlags::mean_in_rms},
    {"gradient_without_weight", &GradientFlags::no_weight},
    {"weight_gradient_of_weighted", &GradientFlags::weighted_weight},
    {"weight_gradient_not_normalised", &GradientFlags::not_normalised},
    {"bias_gradient_weighted", &GradientFlags::weighted_bias},
    {"rows_from_first_axis", &GradientFlags::first_axis},
    {"last_rows_not_summed", &GradientFlags::last_rows},
    {"partial_sums_overwritten", &GradientFlags::overwritten},
    {"partial_sums_in_bf16", &GradientFlags::in_bf16},
    {"norm_backward_eps_outside_sqrt", &GradientFlags::eps_outside_sqrt},
    {"norm_backward_padded_width", &GradientFlags::padded_width},
    {"norm_backward_tail_not_in_sums", &GradientFlags::tailless},
    {"norm_backward_previous_row", &GradientFlags::previous_row},
    {"residual_gradient_dropped", &GradientFlags::no_addend},
    {"residual_gradient_of_first_row", &GradientFlags::first_addend},
    {"partial_sum_of_no_rows", &GradientFlags::part_of_no_rows},
};

NormBackwardParams params_of(const NormBackward& op, const FusedScope& scope) {
  NormBackwardParams params{};
  params.storage = storage_of(scope.at(op.x).type.dtype);
  params.rows = static_cast<int>(op.rows);
  params.columns = static_cast<int>(op.columns);
  params.groups = row_groups(params.rows);
  params.first_axis = static_cast<int>(op.first_axis);
  params.eps = static_cast<float>(op.eps);
  params.centred = op.centred;
  params.faults = kernel_faults(scope, kGradientFlags);
  return params;
}

}  // namespace

Emitted emit_fused(const NormBackward& op, const FusedScope& scope, DeviceTensors outs, Emitter& emitter) {
  const NormBackwardParams params = params_of(op, scope);
  const DeviceTensors sums = op.addend ? outs.first(outs.size() - 1) : outs.subspan(1);
  const Buffer dx = (op.addend ? outs.back() : outs.front()).buffer, dweight = sums[0].buffer;
  std::optional<Buffer> addend, dbias;
  if (op.addend) addend = scope.at(*op.addend).buffer;
  if (op.centred) dbias = sums[1].buffer;
  constexpr int64_t kFloat = sizeof(float);
  const Buffer mean = emitter.temporary(op.rows * kFloat), rstd = emitter.temporary(op.rows * kFloat);
  const Buffer parts = emitter.temporary((2 * params.groups + 1) * op.columns * kFloat);
  emitter.launch([=, dy = scope.at(op.dy).buffer, x = scope.at(op.x).buffer,
                  weight = scope.at(op.weight).buffer](const LaunchContext& at) {
    NormBackwardParams placed = params;
    placed.dy = at.at(dy);
    placed.x = at.at(x);
    placed.weight = at.at(weight);
    if (addend) placed.addend = at.at(*addend);
    placed.dx = at.at(dx);
    placed.dweight = at.at(dweight);
    if (dbias) placed.dbias = at.at(*dbias);
    placed.mean = static_cast<float*>(at.at(mean));
    placed.rstd = static_cast<float*>(at.at(rstd));
    placed.parts = static_cast<float*>(at.at(parts));
    check_cuda(launch_norm_backward(placed, at.stream()), "kernel norm_backward");
  });
  return true;
}

}  // namespace fusesmith::backends
