// AddNorm: each row of the sum is computed in f32 and normalised; it is stored, rounded, if other nodes
// read it.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "backends/common/floats.h"
#include "backends/cpu_fused/run_fused.h"
#include "backends/cpu_fused/welford.h"

namespace fusesmith::backends {
namespace {

// The mean square, in eight lanes that are added pairwise at the end.
float mean_square(std::span<const float> row) {
  std::array<float, 8> lanes{};
  for (size_t i = 0; i < row.size(); ++i) lanes[i % lanes.size()] += row[i] * row[i];
  for (size_t width = lanes.size() / 2; width > 0; width /= 2) {
    for (size_t l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0] / static_cast<float>(row.size());
}

struct NormFaults {
  bool added_after, statistics_of_x, subtracts_mean, eps_outside_sqrt, padded_width, bias_first;

  explicit NormFaults(const RegionScope& scope)
      : added_after(scope.planted("residual_added_after_norm")),
        statistics_of_x(scope.planted("add_norm_statistics_of_x")),
        subtracts_mean(scope.planted("rms_norm_subtracts_mean")),
        eps_outside_sqrt(scope.planted("add_norm_eps_outside_sqrt")),
        padded_width(scope.planted("rms_norm_divides_by_padded_width")),
        bias_first(scope.planted("add_norm_bias_before_weight")) {}
};

// The value that is subtracted from a row, and the factor that it is then multiplied by.
struct Normaliser {
  float mean = 0, scale = 1;
};

Normaliser normal_of(const AddNorm& norm, std::span<const float> row, const NormFaults& faults) {
  Normaliser normal;
  float power;
  if (norm.kind == AddNorm::Kind::layer_norm || faults.subtracts_mean) {
    const Statistics statistics = welford(row);
    normal.mean = statistics.mean;
    power = statistics.squares / statistics.count;
  } else {
    power = mean_square(row);
    const size_t padded = (row.size() + 7) / 8 * 8;
    if (faults.padded_width) power *= static_cast<float>(row.size()) / static_cast<float>(padded);
  }
  const float eps = static_cast<float>(norm.eps);
  normal.scale = faults.eps_outside_sqrt ? 1.0f / (std::sqrt(power) + eps) : 1.0f / std::sqrt(power + eps);
  return normal;
}

// The rows side by side.
std::vector<float> packed_rows(const Floats& x, const AddNorm& norm, int64_t pitch) {
  std::vector<float> rows(static_cast<size_t>(norm.rows * norm.columns));
  for (int64_t r = 0; r < norm.rows; ++r)
    std::copy_n(x.data() + r * pitch, norm.columns, rows.begin() + r * norm.columns);
  return rows;
}

// Injected fault: a weight that is wider than x is read as if it were not.
Tensor of_width(const Tensor& weight, Dtype dtype) {
  Tensor narrow(TensorType{dtype, weight.type.shape});
  std::copy_n(weight.bytes.begin(), narrow.bytes.size(), narrow.bytes.begin());
  return narrow;
}

}  // namespace

void run_fused(const AddNorm& norm, const RegionScope& scope, Outputs outs) {
  const NormFaults faults(scope);
  const std::vector<float> x = packed_rows(scope.floats(norm.x), norm, norm.x_pitch),
                           addend = packed_rows(scope.floats(norm.addend), norm, norm.addend_pitch);
  std::optional<Floats> weight, bias;
  const Dtype dtype = scope.at(norm.x).type.dtype;
  if (norm.weight && scope.at(*norm.weight).type.dtype != dtype)
    weight.emplace(of_width(scope.at(*norm.weight), dtype));
  else if (norm.weight)
    weight.emplace(scope.at(*norm.weight));
  if (norm.bias) bias.emplace(scope.at(*norm.bias));
  std::vector<float> sum(x.size());
  const StepValues shown(scope.probe, "add", 2, x.size());
  for (size_t i = 0; i < sum.size(); ++i) sum[i] = x[i] + addend[i];
  for (size_t i = 0; shown.shown() && i < sum.size(); ++i)
    sum[i] = shown.result(i, shown.operand(0, i, x[i]) + shown.operand(1, i, addend[i]));
  if (outs.size() > 1) {
    const auto kept = std::span<const float>(scope.planted("residual_goes_on_without_addend") ? x : sum);
    write_floats(*outs.front(), [&](std::span<float> y) { std::copy(kept.begin(), kept.end(), y.begin()); });
  }
  const size_t columns = static_cast<size_t>(norm.columns), rows = static_cast<size_t>(norm.rows);
  const bool centred = norm.kind == AddNorm::Kind::layer_norm;
  const InnerValue means(centred ? scope.probe : nullptr, "mean", rows), rstds(scope.probe, "rstd", rows);
  const InnerValue results(detailed(scope.probe), centred ? "layer_norm" : "rms_norm", x.size(), true);
  write_floats(*outs.back(), [&](std::span<float> y) {
    for (size_t at = 0; at < y.size(); at += columns) {
      const auto own = std::span<const float>(x).subspan(at, columns);
      const auto summed = std::span<const float>(sum).subspan(at, columns);
      const auto row = faults.added_after ? own : summed;
      Normaliser normal = normal_of(norm, faults.statistics_of_x ? own : row, faults);
      normal.mean = means(at / columns, normal.mean);
      normal.scale = rstds(at / columns, normal.scale);
      for (size_t j = 0; j < columns; ++j) {
        float value = (row[j] - normal.mean) * normal.scale;
        if (bias && faults.bias_first) value += (*bias)[j];
        if (weight) value *= (*weight)[j];
        if (bias && !faults.bias_first) value += (*bias)[j];
        y[at + j] = faults.added_after ? value + addend[at + j] : value;
      }
      results(at, y.subspan(at, columns));
    }
  });
}

}  // namespace fusesmith::backends
