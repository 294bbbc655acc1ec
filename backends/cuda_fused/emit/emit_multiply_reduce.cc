// MultiplyReduce through multiply_reduce.cu.
#include "backends/cuda/emit/dtype_storage.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda_fused/emit/emit_fused.h"
#include "backends/cuda_fused/gemm/multiply_reduce.h"

namespace fusesmith::backends {
namespace {

constexpr int64_t kMostTerms = 1 << 30;

template <int kMax>
ReduceAxes<kMax> axes_of(const std::vector<ProductAxis>& axes) {
  ReduceAxes<kMax> result{};
  result.rank = static_cast<int>(axes.size());
  result.count = static_cast<int>(extent(axes));
  for (size_t i = 0; i < axes.size(); ++i) {
    const ProductAxis& axis = axes[i];
    result.axis[i] = {static_cast<int>(axis.size), static_cast<int>(axis.a), static_cast<int>(axis.b),
                      static_cast<int>(axis.out)};
  }
  return result;
}

// The summed letters of two operands can have more terms than a tensor can have elements.
bool too_many_terms(const std::vector<ProductAxis>& axes) {
  int64_t terms = 1;
  for (const ProductAxis& axis : axes) {
    if (axis.size > kMostTerms / terms) return true;
    terms *= axis.size;
  }
  return false;
}

}  // namespace

Emitted emit_fused(const MultiplyReduce& reduction, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter) {
  const DeviceTensor &a = scope.at(reduction.a), &b = scope.at(reduction.b);
  const Dtype dtype = out.type.dtype;
  if (!is_float(dtype) || a.type.dtype != dtype || b.type.dtype != dtype) return false;
  if (reduction.kept.size() > size_t{kMaxAxes} || reduction.summed.size() > size_t{kMaxSummedAxes} ||
      too_many_terms(reduction.summed)) {
    return false;
  }
  MultiplyReduceParams params{};
  params.storage = storage_of(dtype);
  params.kept = axes_of<kMaxAxes>(reduction.kept);
  params.summed = axes_of<kMaxSummedAxes>(reduction.summed);
  int& terms = params.summed.count;
  if (scope.planted("reduction_tail_skipped") && terms > 8) terms -= terms % 8;
  params.races = scope.planted("reduction_races");
  emitter.launch([params, a = a.buffer, b = b.buffer, to = out.buffer](const LaunchContext& at) {
    MultiplyReduceParams placed = params;
    placed.a = at.at(a);
    placed.b = at.at(b);
    placed.out = at.at(to);
    check_cuda(launch_multiply_reduce(placed, at.stream()), "kernel multiply_reduce");
  });
  return true;
}

// IEEE products, added in trees.
SumOrder sum_order(const MultiplyReduce& reduction, OnGpu) {
  return {.products = multiply_reduce_height(static_cast<int>(extent(reduction.summed))), .ieee = true};
}

}  // namespace fusesmith::backends
