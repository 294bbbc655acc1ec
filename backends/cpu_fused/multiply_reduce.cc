// MultiplyReduce: each output element is a sum of products in eight f32 lanes that are added pairwise at the
// end.
#include <numeric>

#include "backends/common/floats.h"
#include "backends/common/round_through.h"
#include "backends/cpu_fused/intermittent_fault.h"
#include "backends/cpu_fused/offsets.h"
#include "backends/cpu_fused/run_fused.h"
#include "backends/rewrite/kernel_tiles.h"

namespace fusesmith::backends {
namespace {

constexpr int64_t kTermLanes = cpu_tile("einsum_to_pointwise", "terms");

float dot(const float* a, const Offsets& a_at, const float* b, const Offsets& b_at, int64_t count,
          bool in_order_of_arrival, bool in_bf16) {
  if (count == 1) return a[a_at[int64_t{0}]] * b[b_at[int64_t{0}]];
  float lane[kTermLanes] = {};
  int64_t i = 0;
  for (; i + kTermLanes <= count; i += kTermLanes) {
    for (int64_t l = 0; l < kTermLanes; ++l) lane[l] += a[a_at[i + l]] * b[b_at[i + l]];
    if (in_bf16) round_through(Dtype::bf16, lane);
  }
  for (int64_t l = 0; i + l < count; ++l) lane[l] += a[a_at[i + l]] * b[b_at[i + l]];
  if (in_order_of_arrival) return std::accumulate(lane, lane + kTermLanes, 0.0f);
  for (int64_t width = kTermLanes / 2; width > 0; width /= 2) {
    for (int64_t l = 0; l < width; ++l) lane[l] += lane[l + width];
  }
  return lane[0];
}

}  // namespace

// A product, the lane's sums, three sums of lanes.
SumOrder sum_order(const MultiplyReduce& reduction, OnCpu) {
  const int64_t terms = extent(reduction.summed), of_lane = (terms + kTermLanes - 1) / kTermLanes;
  return {.products = static_cast<double>(1 + of_lane + 3), .ieee = true};
}

void run_fused(const MultiplyReduce& reduction, const RegionScope& scope, Tensor& out) {
  const Floats a(scope.floats(reduction.a)), b(scope.floats(reduction.b));
  const AxisOffsets kept(reduction.kept), summed(reduction.summed);
  int64_t count = summed.count;
  if (scope.planted("reduction_tail_skipped") && count > kTermLanes) count -= count % kTermLanes;
  const bool in_order_of_arrival = scope.planted("reduction_order_varies") && strikes_now<7>();
  const bool in_bf16 = scope.planted("reduction_accumulates_in_bf16");
  const InnerValue product(detailed(scope.probe), "product", static_cast<size_t>(out.size()), true);
  write_floats(out, [&](std::span<float> y) {
    for (int64_t i = 0; i < kept.count; ++i) {
      const float sum = dot(a.data() + kept.a[i], summed.a, b.data() + kept.b[i], summed.b, count,
                            in_order_of_arrival, in_bf16);
      const auto to = static_cast<size_t>(kept.out[i]);
      y[to] = product(to, sum);
    }
  });
}

}  // namespace fusesmith::backends
