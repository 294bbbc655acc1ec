// WelfordNorm through welford.cu.
#include "backends/cuda/emit/dtype_storage.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda_fused/emit/emit_fused.h"
#include "backends/cuda_fused/emit/kernel_faults.h"
#include "backends/cuda_fused/rows/welford.h"

namespace fusesmith::backends {

namespace {

using WelfordFlags = WelfordFaults;
constexpr FaultFlag<WelfordFlags> kWelfordFlags[] = {
    {"layer_norm_eps_outside_sqrt", &WelfordFlags::eps_outside_sqrt},
    {"layer_norm_unbiased_variance", &WelfordFlags::unbiased_variance},
    {"layer_norm_moments", &WelfordFlags::moments},
    {"welford_warp_tail", &WelfordFlags::warp_tail},
    {"layer_norm_previous_row_statistics", &WelfordFlags::previous_row},
    {"row_sum_width_by_rows", &WelfordFlags::lanes_by_rows},
};

}  // namespace

// The warps of a row depend on its columns alone.
SumOrder sum_order(const WelfordNorm&, OnGpu) { return {.batch_invariant = true}; }

Emitted emit_fused(const WelfordNorm& norm, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter) {
  const DeviceTensor& x = scope.at(norm.x);
  std::optional<Buffer> weight, bias;
  if (norm.weight) weight = scope.at(*norm.weight).buffer;
  if (norm.bias) bias = scope.at(*norm.bias).buffer;
  const auto other_dtype = [&](ValueId value) { return scope.at(value).type.dtype != out.type.dtype; };
  if (!is_float(out.type.dtype) || other_dtype(norm.x) || (norm.weight && other_dtype(*norm.weight)) ||
      (norm.bias && other_dtype(*norm.bias))) {
    return false;
  }
  WelfordParams params{};
  params.storage = storage_of(out.type.dtype);
  params.rows = static_cast<int>(norm.rows);
  params.columns = static_cast<int>(norm.columns);
  params.eps = static_cast<float>(norm.eps);
  params.faults = kernel_faults(scope, kWelfordFlags);
  emitter.launch([=, x = x.buffer, to = out.buffer](const LaunchContext& at) {
    WelfordParams placed = params;
    placed.x = at.at(x);
    if (weight) placed.weight = at.at(*weight);
    if (bias) placed.bias = at.at(*bias);
    placed.out = at.at(to);
    placed.mean = at.inner("mean", placed.rows);
    placed.rstd = at.inner("rstd", placed.rows);
    check_cuda(launch_welford(placed, at.stream()), "kernel welford");
  });
  return true;
}

}  // namespace fusesmith::backends
