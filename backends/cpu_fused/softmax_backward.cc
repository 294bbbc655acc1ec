// SoftmaxGradient: the sum of one row after another, then its elements.
#include <cmath>

#include "backends/common/floats.h"
#include "backends/common/reduce.h"
#include "backends/common/round_through.h"
#include "backends/cpu_fused/run_fused.h"

namespace fusesmith::backends {
namespace {

// A row of dy and of y.
struct Row {
  std::span<const float> dy, y;
};

float sum_of_row(const SoftmaxGradient& op, const Row& row, const RegionScope& scope) {
  const size_t n = row.y.size();
  const size_t last = scope.planted("softmax_backward_tail_not_in_sum") && n > 8 ? n - n % 8 : n;
  const bool of_gradients = op.of_log || scope.planted("softmax_sum_of_gradients");
  if (scope.planted("softmax_backward_without_sum")) return 0;
  const float sum = sum_of(last, [&](size_t j) { return of_gradients ? row.dy[j] : row.dy[j] * row.y[j]; });
  return scope.planted("softmax_backward_sum_in_bf16") ? in_bf16(sum) : sum;
}

float scaled(const Scale& scale, float x) {
  const float factor = static_cast<float>(scale.factor);
  return scale.inverse ? x / factor : x * factor;
}

}  // namespace

void run_fused(const SoftmaxGradient& op, const RegionScope& scope, Tensor& out) {
  const Floats all_dy(scope.floats(op.dy)), all_y(scope.floats(op.y));
  const size_t columns = static_cast<size_t>(op.columns);
  const bool first_row = scope.planted("upstream_gradient_of_first_row");
  const bool logarithms = scope.planted("logarithms_for_probabilities");
  const bool in_part = op.scale && scope.planted("softmax_backward_scaled_in_part");
  write_floats(out, [&](std::span<float> to) {
    for (size_t r = 0; r < static_cast<size_t>(op.rows); ++r) {
      const Row row{
          all_dy.span().subspan(first_row ? 0 : r * static_cast<size_t>(op.dy_pitch), columns),
          all_y.span().subspan(r * static_cast<size_t>(op.y_pitch), columns),
      };
      const float sum = sum_of_row(op, row, scope);
      for (size_t j = 0; j < columns; ++j) {
        const float dy = in_part ? scaled(*op.scale, row.dy[j]) : row.dy[j], y = row.y[j];
        const float dx = op.of_log ? dy - (logarithms ? y : std::exp(y)) * sum : y * (dy - sum);
        to[r * columns + j] = op.scale && !in_part ? scaled(*op.scale, dx) : dx;
      }
    }
  });
}

}  // namespace fusesmith::backends
