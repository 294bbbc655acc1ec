#include "oracle/reference/statistics.h"

#include <cmath>
#include <span>

#include "oracle/reference/sums.h"

namespace fusesmith::oracle::ref {
namespace {

using Variance = Arithmetic::Variance;

// Whether a sum of these terms is exact in every order, and its mean is an f32.
bool exact_mean(const RowView& row, double mean, double magnitude) {
  int g = kAnyGranularity;
  for (size_t i = 0; i < row.n; ++i) g = std::min(g, granularity(row.x[i]));
  return sums_are_exact(g, magnitude * static_cast<double>(row.n), -126) &&
         static_cast<double>(static_cast<float>(mean)) == mean;
}

bool constant_row(const RowView& row) {
  for (size_t i = 1; i < row.n; ++i) {
    if (row.x[i] != row.x[0]) return false;
  }
  return true;
}

// The number of roundings of Welford's mean, in units of u mean|x|: in an unknown order, or in lanes.
double welford_roundings(double n, const RowSums& sums) {
  const auto running = [](double updates) { return updates + 3 * std::log(updates) + 8; };
  if (sums.any_order()) return running(n);
  return std::fmin(running(n), running(sums.steps_of_lane(n)) + 5 * sums.merges);
}

// The units of a division beyond those of one that is correctly rounded.
double dividing(const Arithmetic& arithmetic) { return std::fmax(arithmetic.div - 1, 0); }

// `variance` is not two_pass_or_welford here and below.
double mean_rounding(const RowView& row, double mean, double magnitude, const Arithmetic& arithmetic,
                     Variance variance) {
  const double n = static_cast<double>(row.n);
  const bool welford = variance == Variance::welford;
  if (welford && !row.dx && constant_row(row)) return 0;
  if (!(n * magnitude < max_finite(Dtype::f32))) return kInfinity;  // the sum may overflow
  if (welford) return welford_roundings(n, arithmetic.row_sums) * kU * magnitude;
  // A division that is not correctly rounded may be a product with the rounded 1 / n.
  const bool divides = (arithmetic.div <= 1 && !arithmetic.means_of_quotients) || is_power_of_two(row.n);
  if (divides && arithmetic.sum == 1 && !row.dx && exact_mean(row, mean, magnitude)) return 0;
  return (arithmetic.row_roundings(n) + 3 + dividing(arithmetic)) * kU * magnitude;
}

// Whether squaring and adding the differences from an exact mean is exact in every order, and the division
// by n, too.
bool exact_variance(const RowView& row, double mean, double squares) {
  int g = kAnyGranularity;
  for (size_t i = 0; i < row.n; ++i) {
    const double c = row.x[i] - mean;
    if (!is_plain_f32(c)) return false;
    g = std::min(g, 2 * granularity(c));
  }
  return sums_are_exact(g, squares, -126) && (squares == 0 || is_power_of_two(row.n)) &&
         is_plain_f32(squares / static_cast<double>(row.n));
}

double welford_variance_rounding(double n, double mean, double variance, double shifted,
                                 const RowSums& sums) {
  const double spread = std::sqrt(variance * (variance + mean * mean));
  const double any_order = 2 * (n + 8) * kU * spread + (n + 5) * kU * variance + shifted;
  if (sums.any_order()) return any_order;
  const double levels = sums.merges, steps = sums.steps_of_lane(n), s = std::sqrt(1 + std::log(steps));
  const double in_lanes = (2 * (steps + levels) + 1.5 * s) * kU * spread +
                          (steps + 11 * levels + 8.5 * s + 14) * kU * variance + (1 + levels) * shifted;
  return std::fmin(any_order, in_lanes);
}

double variance_rounding(double n, double mean, double variance, double mean_error,
                         const Arithmetic& arithmetic, Variance form) {
  const double shifted = mean_error * mean_error, height = arithmetic.row_roundings(n);
  switch (form) {
    case Variance::two_pass:
      return (height + 6 + dividing(arithmetic)) * kU * (variance + shifted) + shifted;
    case Variance::moments: {
      const double square = variance + mean * mean;
      if (!(n * square < 1e38)) return kInfinity;  // a square may overflow
      return (height + 4 + dividing(arithmetic)) * kU * square + 2 * mean * mean_error + 2 * shifted;
    }
    case Variance::welford:
    case Variance::two_pass_or_welford:
      break;
  }
  return welford_variance_rounding(n, mean, variance, shifted, arithmetic.row_sums);
}

// The forms in which a kernel may have computed it.
std::span<const Variance> forms_of(const Variance& variance) {
  static constexpr Variance kEither[] = {Variance::two_pass, Variance::welford};
  if (variance == Variance::two_pass_or_welford) return kEither;
  return {&variance, 1};
}

}  // namespace

Statistics statistics(const RowView& row, const Arithmetic& arithmetic) {
  const double n = static_cast<double>(row.n);
  double sum = 0, magnitude = 0, mean_dx = 0;
  for (size_t i = 0; i < row.n; ++i) {
    sum += row.x[i];
    magnitude += std::fabs(row.x[i]);
    if (row.dx) mean_dx += row.dx[i];
  }
  Statistics s{};
  s.mean = constant_row(row) ? row.x[0] : sum / n;
  magnitude = (magnitude + mean_dx) / n;
  mean_dx /= n;
  double squares = 0, cross = 0;
  for (size_t i = 0; i < row.n; ++i) {
    const double c = row.x[i] - s.mean, dc = row.dx ? row.dx[i] + mean_dx : 0;
    squares += c * c;
    cross += 2 * std::fabs(c) * dc + dc * dc;
  }
  s.variance = squares / n;
  for (Variance form : forms_of(arithmetic.variance)) {
    const double rounding = mean_rounding(row, s.mean, magnitude, arithmetic, form);
    // The f64 error of the reference; an inexact mean may also lose subnormals.
    const double mean_error =
        rounding > 0 ? rounding + n * 0x1p-53 * magnitude + mean_dx + n * 0x1p-149 : mean_dx;
    s.mean_error = std::fmax(s.mean_error, mean_error);
    if (form == Variance::two_pass && rounding == 0 && !row.dx && exact_variance(row, s.mean, squares))
      continue;
    const double spread = s.variance + cross / n;
    s.variance_error = std::fmax(
        s.variance_error,
        cross / n + variance_rounding(n, std::fabs(s.mean) + mean_dx, spread, rounding, arithmetic, form));
  }
  return s;
}

}  // namespace fusesmith::oracle::ref
