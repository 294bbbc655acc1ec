// AddNorm through add_norm.cu.
#include "backends/cuda/emit/dtype_storage.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda_fused/emit/emit_fused.h"
#include "backends/cuda_fused/emit/kernel_faults.h"
#include "backends/cuda_fused/rows/add_norm.h"

namespace fusesmith::backends {

namespace {

using AddNormFlags = AddNormFaults;
constexpr FaultFlag<AddNormFlags> kAddNormFlags[] = {
    {"residual_added_after_norm", &AddNormFlags::added_after},
    {"add_norm_statistics_of_x", &AddNormFlags::statistics_of_x},
    {"rms_norm_subtracts_mean", &AddNormFlags::subtracts_mean},
    {"add_norm_eps_outside_sqrt", &AddNormFlags::eps_outside_sqrt},
    {"residual_goes_on_without_addend", &AddNormFlags::kept_without_addend},
    {"add_norm_previous_row_statistics", &AddNormFlags::previous_row},
};

}  // namespace

// All operands are of one float dtype: addition and norms take no others. (An injected fault of the matcher
// finds others: that region runs node by node.)
SumOrder sum_order(const AddNorm&, OnGpu) { return {.batch_invariant = true}; }

Emitted emit_fused(const AddNorm& norm, const FusedScope& scope, DeviceTensors outs, Emitter& emitter) {
  const DeviceTensor& out = outs.back();
  if (scope.at(norm.x).type.dtype != out.type.dtype) return false;
  AddNormParams params{};
  params.storage = storage_of(out.type.dtype);
  params.rows = static_cast<int>(norm.rows);
  params.columns = static_cast<int>(norm.columns);
  params.eps = static_cast<float>(norm.eps);
  params.centred = norm.kind == AddNorm::Kind::layer_norm;
  params.faults = kernel_faults(scope, kAddNormFlags);
  std::optional<Buffer> weight, bias, sum;
  if (norm.weight) weight = scope.at(*norm.weight).buffer;
  if (norm.bias) bias = scope.at(*norm.bias).buffer;
  if (outs.size() > 1) sum = outs.front().buffer;
  emitter.launch([=, x = scope.at(norm.x).buffer, addend = scope.at(norm.addend).buffer,
                  to = out.buffer](const LaunchContext& at) {
    AddNormParams placed = params;
    placed.x = at.at(x);
    placed.addend = at.at(addend);
    if (weight) placed.weight = at.at(*weight);
    if (bias) placed.bias = at.at(*bias);
    if (sum) placed.sum = at.at(*sum);
    placed.out = at.at(to);
    if (placed.centred) placed.mean = at.inner("mean", placed.rows);
    placed.rstd = at.inner("rstd", placed.rows);
    check_cuda(launch_add_norm(placed, at.stream()), "kernel add_norm");
  });
  return true;
}

}  // namespace fusesmith::backends
