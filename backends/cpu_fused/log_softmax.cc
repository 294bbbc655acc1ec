// FusedLogSoftmax: maximum, sum of exponentials and differences of one row after another.
#include <cmath>
#include <limits>

#include "backends/common/float_functions.h"
#include "backends/common/floats.h"
#include "backends/common/reduce.h"
#include "backends/cpu_fused/run_fused.h"

namespace fusesmith::backends {
namespace {

float log_sum_exp(std::span<const float> row, const RegionScope& scope) {
  float max = -std::numeric_limits<float>::infinity();
  for (float x : row) max = maximum(max, x);
  if (!std::isfinite(max)) return max;
  if (scope.planted("loss_without_shift")) max = 0;
  float sum = sum_of(row.size(), [&](size_t i) { return std::exp(row[i] - max); });
  if (scope.planted("log_softmax_padding_in_sum")) {
    constexpr size_t kVector = 8;
    sum += static_cast<float>((kVector - row.size() % kVector) % kVector) * std::exp(-max);
  }
  return std::log(sum) + max;
}

}  // namespace

void run_fused(const FusedLogSoftmax& op, const RegionScope& scope, Tensor& out) {
  const Floats x(scope.floats(op.x));
  const size_t columns = static_cast<size_t>(op.columns), pitch = static_cast<size_t>(op.pitch);
  write_floats(out, [&](std::span<float> y) {
    for (size_t row = 0; row < static_cast<size_t>(op.rows); ++row) {
      const auto from = x.span().subspan(row * pitch, columns);
      const float sum = log_sum_exp(from, scope);
      for (size_t j = 0; j < columns; ++j) y[row * columns + j] = from[j] - sum;
    }
  });
}

}  // namespace fusesmith::backends
