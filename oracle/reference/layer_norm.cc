// layer_norm: y = (x - m) r w + b with r = 1 / sqrt(var + eps). Bounds of the statistics:
//   mean      sum of n in any order: (n + 2) u mean|x|; Welford's running mean: its n updates each round the
//   mean and the step,
//             together (n + 3 ln n + 8) u mean|x|. 0 where the sum is exact and the mean an f32.
//   variance  two-pass: (n + 5) u (var + dm^2) + dm^2; Welford: (2 (n + 8) k + n + 5) u var + dm^2 with
//             k = sqrt(1 + mean^2 / var) (Chan, Golub, LeVeque 1983); moments: (n + 3) u (var + mean^2) + 2
//             |mean| dm + 2 dm^2.
#include <cmath>
#include <limits>

#include "oracle/reference/ops.h"

namespace fusesmith::ref {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Statistics {
  double mean, mean_error;  // dm: of computing and of inexact inputs
  double variance, variance_error;
};

struct RowView {
  const double* x;
  const double* dx;  // null: exact
  size_t n;
};

// Whether a sum of these terms is exact in every order, and its mean is an f32.
bool exact_mean(const RowView& row, double mean, double magnitude) {
  int lowest = 4096;
  for (size_t i = 0; i < row.n; ++i) {
    if (row.x[i] == 0) continue;
    int exponent = 0;
    const auto significand = static_cast<int64_t>(std::frexp(row.x[i], &exponent) * 0x1p53);
    lowest = std::min(lowest, exponent - 53 + __builtin_ctzll(static_cast<unsigned long long>(significand)));
  }
  const double sum = magnitude * static_cast<double>(row.n);
  return lowest >= -126 && sum <= std::ldexp(1.0, std::min(24 + lowest, 1000)) &&
         static_cast<double>(static_cast<float>(mean)) == mean;
}

bool constant_row(const RowView& row) {
  for (size_t i = 1; i < row.n; ++i) {
    if (row.x[i] != row.x[0]) return false;
  }
  return true;
}

double mean_rounding(const RowView& row, double mean, double magnitude, Arithmetic::Variance how) {
  const double n = static_cast<double>(row.n);
  const bool welford = how == Arithmetic::Variance::welford;
  if (welford && !row.dx && constant_row(row)) return 0;
  if (!(n * magnitude < max_finite(Dtype::f32))) return kInfinity;  // the sum may overflow
  if (welford) return (n + 3 * std::log(n) + 8) * kU * magnitude;
  return !row.dx && exact_mean(row, mean, magnitude) ? 0 : (n + 2) * kU * magnitude;
}

double variance_rounding(double n, double mean, double variance, double mean_error,
                         Arithmetic::Variance how) {
  const double shifted = mean_error * mean_error;
  switch (how) {
    case Arithmetic::Variance::two_pass:
      return (n + 5) * kU * (variance + shifted) + shifted;
    case Arithmetic::Variance::moments: {
      const double square = variance + mean * mean;
      if (!(n * square < 1e38)) return kInfinity;  // a square may overflow
      return (n + 3) * kU * square + 2 * mean * mean_error + 2 * shifted;
    }
    case Arithmetic::Variance::welford:
      break;
  }
  return 2 * (n + 8) * kU * std::sqrt(variance * (variance + mean * mean)) + (n + 5) * kU * variance +
         shifted;
}

Statistics statistics(const RowView& row, Arithmetic::Variance how) {
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
  const double rounding = mean_rounding(row, s.mean, magnitude, how);
  // f64's own error in the mean is 2^-29 of f32's; an inexact mean may also lose subnormals.
  s.mean_error = rounding > 0 ? rounding * (1 + 0x1p-28) + mean_dx + n * 0x1p-149 : mean_dx;
  s.variance_error =
      cross / n + variance_rounding(n, std::fabs(s.mean) + mean_dx, s.variance + cross / n, rounding, how);
  return s;
}

}  // namespace

Bounded reference(const LayerNorm& op, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  const Bounded& x = *in[0];
  const Bounded* weight = in.size() > 1 ? in[1] : nullptr;
  const Bounded* bias = in.size() > 2 ? in[2] : nullptr;
  const auto n = static_cast<size_t>(x.type.shape.back());
  const double eps = static_cast<double>(static_cast<float>(op.eps));
  Bounded y(out);
  y.e.resize(y.v.size());
  for (size_t start = 0; start < x.v.size(); start += n) {
    const RowView row{x.v.data() + start, x.exact() ? nullptr : x.e.data() + start, n};
    const Statistics s = statistics(row, arithmetic.variance);
    const double total = s.variance + eps, r = 1 / std::sqrt(total);
    const double dt = (s.variance_error + kU * total) / total;
    // Relative error of r: (1 - dt)^(-1/2) - 1, the larger side; unbounded where the variance may vanish.
    const double dr =
        (dt < 1 ? 1 / std::sqrt(1 - dt) : kInfinity) * (1 + arithmetic.rsqrt * kU) - 1 + 0x1p-50;
    for (size_t j = 0; j < n; ++j) {
      const double c = row.x[j] - s.mean, dx = row.dx ? row.dx[j] : 0;
      const double dc = (dx + s.mean_error) * (1 + kU) + kU * std::fabs(c);
      const double w = weight ? weight->v[j] : 1, dw = weight ? weight->error(j) : 0;
      const double normal = c * r, dnormal = (r * dc * (1 + dr) + std::fabs(normal) * dr) * (1 + kU) +
                                             kU * std::fabs(normal) + 0x1p-149;
      const double product = normal * w;
      const double dproduct =
          std::fabs(w) * dnormal + dw * (std::fabs(normal) + dnormal) + kU * std::fabs(product);
      const double v = product + (bias ? bias->v[j] : 0);
      double e = dproduct * (1 + 2 * kU) + (bias ? bias->error(j) : 0) +
                 0x1p-50 * (std::fabs(product) + std::fabs(v)) + arithmetic.smallest;
      const bool regular = std::isfinite(s.mean) && std::isfinite(s.variance);
      if (!regular)
        e = row.dx ? kInfinity : 0;
      else if (!(s.variance * static_cast<double>(n) < 1e38) || !std::isfinite(s.mean_error))
        e = kInfinity;
      else if (std::isinf(w) && !(dnormal < std::fabs(normal)))
        e = kInfinity;
      else if (std::isfinite(w) && !(std::fabs(product) + dproduct < max_finite(Dtype::f32)))
        e = kInfinity;
      else if (!std::isfinite(v))
        e = dw > 0 || (bias && bias->error(j) > 0) ? kInfinity : 0;
      else if (std::isnan(e))
        e = kInfinity;
      y.v[start + j] = v;
      y.e[start + j] = e;
    }
  }
  return y;
}

}  // namespace fusesmith::ref
