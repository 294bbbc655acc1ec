// Quantize through quantize.cu.
#include "backends/cuda/emit/dtype_storage.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda_fused/emit/emit_fused.h"
#include "backends/cuda_fused/emit/kernel_faults.h"
#include "backends/cuda_fused/rows/quantize.h"

namespace fusesmith::backends {

namespace {

using QuantizeFlags = QuantizeFaults;
constexpr FaultFlag<QuantizeFlags> kQuantizeFlags[] = {
    {"largest_number_for_magnitude", &QuantizeFlags::signed_largest},
    {"zero_block_divided_by_zero", &QuantizeFlags::no_least},
    {"scale_of_first_row", &QuantizeFlags::first_row},
    {"scale_sees_padding", &QuantizeFlags::sees_padding},
    {"scale_rounded_to_bf16", &QuantizeFlags::scale_in_bf16},
    {"scale_exponent_truncated", &QuantizeFlags::power_down},
    {"scale_rounded_twice", &QuantizeFlags::power_of_bf16},
    {"cast_saturates_top_binade", &QuantizeFlags::top_saturates},
    {"cast_rounds_half_up", &QuantizeFlags::half_up},
    {"codes_rounded_twice", &QuantizeFlags::rounded_twice},
    {"subnormal_codes_flushed", &QuantizeFlags::flushed},
    {"saturation_left_out", &QuantizeFlags::unsaturated},
};

}  // namespace

// One block for each group, whatever their number.
SumOrder sum_order(const Quantize&, OnGpu) { return {.batch_invariant = true}; }

Emitted emit_fused(const Quantize& op, const FusedScope& scope, DeviceTensors outs, Emitter& emitter) {
  QuantizeParams params{};
  params.storage = storage_of(scope.at(op.x).type.dtype);
  params.groups = static_cast<int>(op.groups);
  params.size = static_cast<int>(op.size);
  params.largest = static_cast<float>(op.largest);
  params.has_power = op.power.has_value();
  params.power = storage_rounding(op.power.value_or(RoundTo{}));
  params.to = storage_rounding(op.to);
  params.faults = kernel_faults(scope, kQuantizeFlags);
  std::optional<Buffer> scales;
  if (outs.size() > 1) scales = outs.front().buffer;
  emitter.launch([=, x = scope.at(op.x).buffer, least = scope.at(op.least).buffer,
                  codes = outs.back().buffer](const LaunchContext& at) {
    QuantizeParams placed = params;
    placed.x = at.at(x);
    placed.least = static_cast<const float*>(at.at(least));
    if (scales) placed.scales = static_cast<float*>(at.at(*scales));
    placed.codes = at.at(codes);
    check_cuda(launch_quantize(placed, at.stream()), "kernel quantize");
  });
  return true;
}

}  // namespace fusesmith::backends
