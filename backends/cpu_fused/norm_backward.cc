// NormBackward: dx row by row; the sums over rows from eight groups of neighbouring rows, merged pairwise.
#include <algorithm>
#include <array>
#include <cmath>

#include "backends/common/floats.h"
#include "backends/common/reduce.h"
#include "backends/common/round_through.h"
#include "backends/cpu_fused/run_fused.h"

namespace fusesmith::backends {
namespace {

struct NormGradientFaults {
  bool no_mean, no_scale, mean_in_rms, no_weight, weighted_weight, not_normalised, weighted_bias, first_axis,
      last_rows, overwritten, in_bf16, eps_outside_sqrt, padded_width, tailless, previous_row, no_addend,
      first_addend;

  explicit NormGradientFaults(const RegionScope& scope)
      : no_mean(scope.planted("gradient_of_mean_missing")),
        no_scale(scope.planted("gradient_of_scale_missing")),
        mean_in_rms(scope.planted("gradient_of_mean_in_rms_norm")),
        no_weight(scope.planted("gradient_without_weight")),
        weighted_weight(scope.planted("weight_gradient_of_weighted")),
        not_normalised(scope.planted("weight_gradient_not_normalised")),
        weighted_bias(scope.planted("bias_gradient_weighted")),
        first_axis(scope.planted("rows_from_first_axis")),
        last_rows(scope.planted("last_rows_not_summed")),
        overwritten(scope.planted("partial_sums_overwritten")),
        in_bf16(scope.planted("partial_sums_in_bf16")),
        eps_outside_sqrt(scope.planted("norm_backward_eps_outside_sqrt")),
        padded_width(scope.planted("norm_backward_padded_width")),
        tailless(scope.planted("norm_backward_tail_not_in_sums")),
        previous_row(scope.planted("norm_backward_previous_row")),
        no_addend(scope.planted("residual_gradient_dropped")),
        first_addend(scope.planted("residual_gradient_of_first_row")) {}
};

// Of a row of x: what is subtracted (0 for rms_norm), mean(x^2) + eps or variance + eps, and its reciprocal
// root.
struct RowScale {
  float mean, power, scale;
};

struct NormGradients {
  const NormBackward& op;
  const NormGradientFaults faults;
  const Floats dy, x, weight;
  const size_t columns = static_cast<size_t>(op.columns);

  NormGradients(const NormBackward& norm, const RegionScope& scope)
      : op(norm),
        faults(scope),
        dy(scope.floats(norm.dy)),
        x(scope.floats(norm.x)),
        weight(scope.at(norm.weight)) {}

  const float* x_row(size_t row) const { return x.data() + row * static_cast<size_t>(op.x_pitch); }
  const float* dy_row(size_t row) const { return dy.data() + row * static_cast<size_t>(op.dy_pitch); }
  float width() const { return static_cast<float>(faults.padded_width ? (columns + 7) / 8 * 8 : columns); }

  RowScale row_scale(size_t row) const {
    const float* const at = x_row(faults.previous_row && row > 0 ? row - 1 : row);
    const float n = width(), eps = static_cast<float>(op.eps);
    const float mean = op.centred ? sum_of(columns, [&](size_t j) { return at[j]; }) / n : 0.0f;
    const float power = sum_of(columns, [&](size_t j) { return (at[j] - mean) * (at[j] - mean); }) / n;
    if (faults.eps_outside_sqrt) return {mean, power, 1.0f / (std::sqrt(power) + eps)};
    return {mean, power + eps, 1.0f / std::sqrt(power + eps)};
  }

  void write_dx(size_t row, const RowScale& normal, std::span<float> dx) const {
    const float *const at = x_row(row), *const from = dy_row(row);
    // Of layer_norm the normalised row; of rms_norm x, as its formula has it.
    const auto h = [&](size_t j) { return op.centred ? (at[j] - normal.mean) * normal.scale : at[j]; };
    const auto g = [&](size_t j) { return faults.no_weight ? from[j] : from[j] * weight[j]; };
    const size_t summed = faults.tailless && columns > 8 ? columns - columns % 8 : columns;
    const float n = width();
    float along = sum_of(summed, [&](size_t j) { return g(j) * h(j); }) / n;
    if (!op.centred) along /= normal.power;
    if (faults.no_scale) along = 0;
    const bool has_mean = op.centred ? !faults.no_mean : faults.mean_in_rms;
    const float mean = has_mean ? sum_of(summed, [&](size_t j) { return g(j); }) / n : 0.0f;
    for (size_t j = 0; j < columns; ++j) dx[j] = normal.scale * (g(j) - mean - h(j) * along);
  }
};

// The sum over rows of term(row).
template <class F>
float summed_over_rows(size_t rows, const NormGradientFaults& faults, F term) {
  constexpr size_t kGroups = 8;
  const size_t of_group = (rows + kGroups - 1) / kGroups;
  std::array<float, kGroups> parts{};
  size_t groups = 0;
  for (size_t first = 0; first < rows; first += of_group, ++groups) {
    for (size_t row = first; row < std::min(rows, first + of_group); ++row) parts[groups] += term(row);
  }
  if (faults.overwritten) return parts[groups - 1];
  for (float& part : parts) part = faults.in_bf16 ? in_bf16(part) : part;
  return ((parts[0] + parts[4]) + (parts[1] + parts[5])) + ((parts[2] + parts[6]) + (parts[3] + parts[7]));
}

size_t summed_rows(const NormBackward& op, const NormGradientFaults& faults) {
  size_t rows = static_cast<size_t>(op.rows);
  if (faults.first_axis) rows = std::min(rows, static_cast<size_t>(op.first_axis));
  return faults.last_rows && rows > 4 ? rows - rows % 4 : rows;
}

void write_sums(const NormGradients& gradients, std::span<const RowScale> normals, Tensor& dweight,
                Tensor* dbias) {
  const NormGradientFaults& faults = gradients.faults;
  const size_t rows = summed_rows(gradients.op, faults);
  write_floats(dweight, [&](std::span<float> to) {
    for (size_t j = 0; j < to.size(); ++j) {
      to[j] = summed_over_rows(rows, faults, [&](size_t row) {
        const float distance = gradients.x_row(row)[j] - normals[row].mean, dy = gradients.dy_row(row)[j];
        const float normalised = faults.not_normalised ? distance : distance * normals[row].scale;
        return (faults.weighted_weight ? dy * gradients.weight[j] : dy) * normalised;
      });
    }
  });
  if (!dbias) return;
  write_floats(*dbias, [&](std::span<float> to) {
    for (size_t j = 0; j < to.size(); ++j) {
      to[j] = summed_over_rows(rows, faults, [&](size_t row) {
        const float dy = gradients.dy_row(row)[j];
        return faults.weighted_bias ? dy * gradients.weight[j] : dy;
      });
    }
  });
}

}  // namespace

void run_fused(const NormBackward& op, const RegionScope& scope, Outputs outs) {
  const NormGradients gradients(op, scope);
  std::optional<Floats> addend;
  if (op.addend && !gradients.faults.no_addend) addend.emplace(scope.floats(*op.addend));
  std::vector<RowScale> normals;
  const size_t columns = gradients.columns;
  const Outputs sums = op.addend ? outs.first(outs.size() - 1) : outs.subspan(1);
  write_floats(*(op.addend ? outs.back() : outs.front()), [&](std::span<float> to) {
    for (size_t row = 0; row < static_cast<size_t>(op.rows); ++row) {
      normals.push_back(gradients.row_scale(row));
      const auto dx = to.subspan(row * columns, columns);
      gradients.write_dx(row, normals.back(), dx);
      if (!addend) continue;
      const size_t from = gradients.faults.first_addend ? 0 : row * static_cast<size_t>(op.addend_pitch);
      for (size_t j = 0; j < columns; ++j) dx[j] += (*addend)[from + j];
    }
  });
  write_sums(gradients, normals, *sums[0], op.centred ? sums[1] : nullptr);
}

}  // namespace fusesmith::backends
