// ScaledProduct and DequantizedProduct through scaled_product.cu.
#include "backends/cuda/emit/dtype_storage.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda_fused/emit/emit_fused.h"
#include "backends/cuda_fused/emit/kernel_faults.h"
#include "backends/cuda_fused/gemm/scaled_product.h"

namespace fusesmith::backends {

namespace {

using ScaledFlags = ScaledProductFaults;
constexpr FaultFlag<ScaledFlags> kScaledFlags[] = {
    {"first_scale_of_four", &ScaledFlags::first_of_four},
    {"last_block_unscaled", &ScaledFlags::last_unscaled},
    {"last_block_dropped", &ScaledFlags::last_dropped},
    {"scale_stride_is_one", &ScaledFlags::transposed_scales},
    {"column_scale_by_row", &ScaledFlags::column_by_row},
    {"second_scale_missing", &ScaledFlags::second_missing},
    {"block_sums_in_bf16", &ScaledFlags::sums_in_bf16},
    {"product_rounded_before_scale", &ScaledFlags::product_in_bf16},
    {"right_codes_in_left_format", &ScaledFlags::left_format},
    {"subnormal_codes_read_as_zero", &ScaledFlags::subnormals_as_zero},
    {"code_tail_not_read", &ScaledFlags::tail_not_read},
};

using DequantizedFlags = DequantizedProductFaults;
constexpr FaultFlag<DequantizedFlags> kDequantizedFlags[] = {
    {"nibbles_exchanged", &DequantizedFlags::nibbles_exchanged},
    {"codes_read_as_unsigned", &DequantizedFlags::is_unsigned},
    {"scale_group_truncates_to_zero", &DequantizedFlags::first_group},
    {"scale_of_next_group", &DequantizedFlags::next_group},
    {"dequantize_clamps_negative", &DequantizedFlags::clamps_negative},
    {"last_group_unscaled", &DequantizedFlags::last_unscaled},
};

}  // namespace

// Each element of both products is a sum in order, whatever the number of rows.
SumOrder sum_order(const ScaledProduct&, OnGpu) { return {.batch_invariant = true}; }
SumOrder sum_order(const DequantizedProduct&, OnGpu) { return {.batch_invariant = true}; }

Emitted emit_fused(const ScaledProduct& op, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter) {
  const auto is_f32 = [&](const auto& factor) { return scope.at(factor.value).type.dtype == Dtype::f32; };
  if (op.factors.size() > 2 || !std::ranges::all_of(op.factors, is_f32)) return false;
  ScaledProductParams params{};
  params.a_storage = storage_of(scope.at(op.a).type.dtype);
  params.b_storage = storage_of(scope.at(op.b).type.dtype);
  params.out_storage = storage_of(out.type.dtype);
  params.blocks = static_cast<int>(op.blocks);
  params.rows = static_cast<int>(op.rows);
  params.columns = static_cast<int>(op.columns);
  params.depth = static_cast<int>(op.depth);
  params.factor_count = static_cast<int>(op.factors.size());
  params.factors_first = op.factors_first;
  params.faults = kernel_faults(scope, kScaledFlags);
  std::vector<Buffer> factors;
  for (size_t i = 0; i < op.factors.size(); ++i) {
    const auto& factor = op.factors[i];
    params.factors[i] = {nullptr, static_cast<int>(factor.block), static_cast<int>(factor.row),
                         static_cast<int>(factor.column)};
    factors.push_back(scope.at(factor.value).buffer);
  }
  emitter.launch(
      [=, a = scope.at(op.a).buffer, b = scope.at(op.b).buffer, to = out.buffer](const LaunchContext& at) {
        ScaledProductParams placed = params;
        placed.a = at.at(a);
        placed.b = at.at(b);
        placed.out = at.at(to);
        for (size_t i = 0; i < factors.size(); ++i)
          placed.factors[i].data = static_cast<const float*>(at.at(factors[i]));
        check_cuda(launch_scaled_product(placed, at.stream()), "kernel scaled_product");
      });
  return true;
}

Emitted emit_fused(const DequantizedProduct& op, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter) {
  DequantizedProductParams params{};
  params.storage = storage_of(out.type.dtype);
  params.code_storage = storage_of(scope.at(op.codes).type.dtype);
  params.rows = static_cast<int>(op.rows);
  params.columns = static_cast<int>(op.columns);
  params.groups = static_cast<int>(op.groups);
  params.depth = static_cast<int>(op.depth);
  params.faults = kernel_faults(scope, kDequantizedFlags);
  emitter.launch([=, x = scope.at(op.x).buffer, codes = scope.at(op.codes).buffer,
                  scale = scope.at(op.scale).buffer, to = out.buffer](const LaunchContext& at) {
    DequantizedProductParams placed = params;
    placed.x = at.at(x);
    placed.codes = at.at(codes);
    placed.scale = at.at(scale);
    placed.out = at.at(to);
    check_cuda(launch_dequantized_product(placed, at.stream()), "kernel dequantized_product");
  });
  return true;
}

}  // namespace fusesmith::backends
