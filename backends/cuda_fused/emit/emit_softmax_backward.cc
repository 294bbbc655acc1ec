// SoftmaxGradient through softmax_backward.cu.
#include "backends/cuda/emit/dtype_storage.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda_fused/emit/emit_fused.h"
#include "backends/cuda_fused/emit/kernel_faults.h"
#include "backends/cuda_fused/rows/softmax_backward.h"

namespace fusesmith::backends {

namespace {

using SoftmaxFlags = SoftmaxGradientFaults;
constexpr FaultFlag<SoftmaxFlags> kSoftmaxFlags[] = {
    {"softmax_sum_of_gradients", &SoftmaxFlags::sum_of_gradients},
    {"logarithms_for_probabilities", &SoftmaxFlags::logarithms},
    {"upstream_gradient_of_first_row", &SoftmaxFlags::first_row},
    {"softmax_backward_tail_not_in_sum", &SoftmaxFlags::tailless},
    {"softmax_backward_sum_in_bf16", &SoftmaxFlags::sum_in_bf16},
    {"softmax_backward_without_sum", &SoftmaxFlags::without_sum},
    {"softmax_backward_scaled_in_part", &SoftmaxFlags::scaled_in_part},
};

}  // namespace

// The warps of a row depend on its columns alone.
SumOrder sum_order(const SoftmaxGradient&, OnGpu) { return {.batch_invariant = true}; }

Emitted emit_fused(const SoftmaxGradient& op, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter) {
  SoftmaxGradientParams params{};
  params.storage = storage_of(out.type.dtype);
  params.rows = static_cast<int>(op.rows);
  params.columns = static_cast<int>(op.columns);
  params.of_log = op.of_log;
  if (op.scale) {
    params.scales = true;
    params.divide = op.scale->inverse;
    params.factor = static_cast<float>(op.scale->factor);
  }
  params.faults = kernel_faults(scope, kSoftmaxFlags);
  emitter.launch(
      [=, dy = scope.at(op.dy).buffer, y = scope.at(op.y).buffer, to = out.buffer](const LaunchContext& at) {
        SoftmaxGradientParams placed = params;
        placed.dy = at.at(dy);
        placed.y = at.at(y);
        placed.out = at.at(to);
        check_cuda(launch_softmax_gradient(placed, at.stream()), "kernel softmax_backward");
      });
  return true;
}

}  // namespace fusesmith::backends
