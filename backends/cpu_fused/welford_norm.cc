// WelfordNorm: statistics in one pass over the row.
#include <cmath>

#include "backends/common/floats.h"
#include "backends/cpu_fused/run_fused.h"
#include "backends/cpu_fused/welford.h"

namespace fusesmith::backends {
namespace {

// Injected fault: the variance by two moments.
Statistics moments(std::span<const float> row) {
  float sum = 0, sum_of_squares = 0;
  for (float x : row) {
    sum += x;
    sum_of_squares += x * x;
  }
  const float n = static_cast<float>(row.size()), mean = sum / n;
  return {n, mean, std::fmax(0.0f, sum_of_squares / n - mean * mean) * n};
}

// Fault: merged in another order, which is as accurate.
Statistics neighbours_first(std::span<const float> row) {
  std::array<Statistics, 8> lanes;
  for (size_t i = 0; i < row.size(); ++i) lanes[i % lanes.size()].add(row[i]);
  for (size_t width = 1; width < lanes.size(); width *= 2) {
    for (size_t l = 0; l < lanes.size(); l += 2 * width) lanes[l].merge(lanes[l + width]);
  }
  return lanes[0];
}

// Injected fault: the row with the padding that follows it.
std::span<const float> with_padding(const Floats& x, size_t start, size_t pitch) {
  return x.span().subspan(start, std::min(pitch, x.size() - start));
}

// Injected fault: the row without the elements beyond the last multiple of 8.
std::span<const float> without_tail(std::span<const float> row) {
  return row.size() > 8 ? row.first(row.size() - row.size() % 8) : row;
}

float reciprocal_deviation(const Statistics& statistics, float eps, const RegionScope& scope) {
  const bool unbiased = scope.planted("layer_norm_unbiased_variance") && statistics.count > 1;
  const float variance = statistics.squares / (unbiased ? statistics.count - 1 : statistics.count);
  if (scope.planted("layer_norm_eps_outside_sqrt")) return 1.0f / (std::sqrt(variance) + eps);
  return 1.0f / std::sqrt(variance + eps);
}

}  // namespace

void run_fused(const WelfordNorm& norm, const RegionScope& scope, Tensor& out) {
  const Floats x(scope.floats(norm.x));
  std::optional<Floats> weight, bias;
  if (norm.weight) weight.emplace(scope.at(*norm.weight));
  if (norm.bias) bias.emplace(scope.at(*norm.bias));
  const bool by_moments = scope.planted("layer_norm_moments");
  const bool padded = norm.pitch > norm.columns && scope.planted("layer_norm_statistics_of_padding");
  const bool order_by_row = scope.planted("welford_order_by_row");
  const bool order_by_count = norm.rows > 4 && scope.planted("row_sum_width_by_rows");
  const bool tailless = scope.planted("layer_norm_tail_not_in_statistics");
  const bool by_row = norm.rows == norm.columns && scope.planted("layer_norm_weight_along_rows");
  const size_t columns = static_cast<size_t>(norm.columns), rows = static_cast<size_t>(norm.rows);
  const InnerValue means(scope.probe, "mean", rows), rstds(scope.probe, "rstd", rows);
  const InnerValue results(detailed(scope.probe), "layer_norm", static_cast<size_t>(out.size()), true);
  write_floats(out, [&](std::span<float> y) {
    for (size_t at = 0; at < y.size(); at += columns) {
      const size_t start = at / columns * static_cast<size_t>(norm.pitch);
      const auto row = x.span().subspan(start, columns);
      const auto measured = padded     ? with_padding(x, start, static_cast<size_t>(norm.pitch))
                            : tailless ? without_tail(row)
                                       : row;
      const bool odd = at / columns % 2 == 1;
      const Statistics statistics = by_moments                                ? moments(row)
                                    : order_by_count || (order_by_row && odd) ? neighbours_first(row)
                                                                              : welford(measured);
      const float own_scale = reciprocal_deviation(statistics, static_cast<float>(norm.eps), scope);
      const float mean = means(at / columns, statistics.mean), scale = rstds(at / columns, own_scale);
      for (size_t j = 0; j < columns; ++j) {
        float value = (row[j] - mean) * scale;
        if (weight) value *= (*weight)[by_row ? at / columns : j];
        if (bias) value += (*bias)[j];
        y[at + j] = value;
      }
      results(at, y.subspan(at, columns));
    }
  });
}

}  // namespace fusesmith::backends
