// FusedLogSoftmax through log_softmax.cu.
#include "backends/cuda/emit/dtype_storage.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda_fused/emit/emit_fused.h"
#include "backends/cuda_fused/emit/kernel_faults.h"
#include "backends/cuda_fused/rows/log_softmax.h"

namespace fusesmith::backends {

namespace {

using LogSoftmaxFlags = LogSoftmaxFaults;
constexpr FaultFlag<LogSoftmaxFlags> kLogSoftmaxFlags[] = {
    {"loss_without_shift", &LogSoftmaxFlags::without_shift},
    {"log_softmax_padding_in_sum", &LogSoftmaxFlags::padding_in_sum},
};

}  // namespace

// The warps of a row depend on its columns alone.
SumOrder sum_order(const FusedLogSoftmax&, OnGpu) { return {.batch_invariant = true}; }

Emitted emit_fused(const FusedLogSoftmax& op, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter) {
  LogSoftmaxParams params{};
  params.storage = storage_of(out.type.dtype);
  params.rows = static_cast<int>(op.rows);
  params.columns = static_cast<int>(op.columns);
  params.faults = kernel_faults(scope, kLogSoftmaxFlags);
  emitter.launch([=, x = scope.at(op.x).buffer, to = out.buffer](const LaunchContext& at) {
    LogSoftmaxParams placed = params;
    placed.x = at.at(x);
    placed.out = at.at(to);
    check_cuda(launch_log_softmax(placed, at.stream()), "kernel log_softmax");
  });
  return true;
}

}  // namespace fusesmith::backends
