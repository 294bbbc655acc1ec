// softmax. With t_i = x_i - max, p_i = exp(t_i) / sum exp(t), each t_i may be off by d_i = |dx_i| + u |t_i|
// (the subtraction rounds). The exact p_j over all such t lies between
//   p_j exp(-d_j) / sum p_i exp(d_i)   and   p_j exp(d_j) / sum p_i exp(-d_i),
// (numerator and denominator move together in x_j), and computing it adds (2 eps_exp + h + 3) u relative: two
// exponentials, h additions (RowSums::height), a division, and 2 for their products. e = 0 where 2^k elements
// equal the maximum and the others lie 104 or more below: e^-104 is 0 in f32. If x_i and the maximum are
// multiplied by log2(e) before they are subtracted, d_i has (|x_i| + |max|) u exp_scores in addition, and no
// element is exact.
#include <algorithm>
#include <cmath>

#include "oracle/reference/ops.h"

namespace fusesmith::oracle::ref {
namespace {

// One row, gathered. p and e are the results.
struct Row {
  std::vector<double> x, dx, t, d, p, e;
};

bool is_row_of_minus_infinity(const Row& row) {
  return std::all_of(row.x.begin(), row.x.end(), [](double x) { return x == -kInfinity; });
}

// Whether every element of the row's softmax is NaN.
bool is_nan_row(const Row& row, double& max) {
  max = -kInfinity;
  for (double x : row.x) {
    if (std::isnan(x) || x == kInfinity) return true;
    max = std::fmax(max, x);
  }
  return max == -kInfinity;
}

bool is_unknown(const Row& row) {
  for (double dx : row.dx) {
    if (dx == kInfinity) return true;
  }
  return false;
}

bool is_exact(const Row& row, double max) {
  size_t equal = 0;
  for (size_t i = 0; i < row.x.size(); ++i) {
    if (row.dx[i] != 0 || (row.x[i] != max && !(max - row.x[i] >= 104))) return false;
    equal += row.x[i] == max;
  }
  return (equal & (equal - 1)) == 0;
}

void exact_row(Row& row, double max) {
  const auto equal = static_cast<double>(std::count(row.x.begin(), row.x.end(), max));
  for (size_t i = 0; i < row.x.size(); ++i) row.p[i] = row.x[i] == max ? 1 / equal : 0;
  row.e.assign(row.x.size(), 0);
}

// The error of the maximum. An element far below the maximum does not contribute, however large its error
// is (a mask with the lowest finite number makes it huge).
double reach_of_maximum(const Row& row, double max) {
  double least = -kInfinity, greatest = -kInfinity;
  for (size_t i = 0; i < row.x.size(); ++i) {
    least = std::fmax(least, row.x[i] - row.dx[i]);
    greatest = std::fmax(greatest, row.x[i] + row.dx[i]);
  }
  return std::fmax(max - least, greatest - max);
}

// Sets t and d.
void set_shifts(Row& row, double max, const Arithmetic& arithmetic) {
  const double reach = reach_of_maximum(row, max);
  for (size_t i = 0; i < row.x.size(); ++i) {
    row.t[i] = row.x[i] - max;
    const double argument = (1 + arithmetic.exp_argument) * (std::fabs(row.t[i]) + row.dx[i] + reach);
    const double scores = arithmetic.exp_scores * (std::fabs(row.x[i]) + std::fabs(max) + row.dx[i] + reach);
    row.d[i] = row.t[i] == -kInfinity ? 0 : row.dx[i] + kU * (argument + scores);
  }
}

// How far p is off because every t is off by d.
class InputErrors {
 public:
  // p has the exponentials of t.
  InputErrors(const Row& row, double sum) : row_(row) {
    double widest = 0;
    for (size_t i = 0; i < row.t.size(); ++i) {
      least_max_ = std::fmax(least_max_, row.t[i] - row.d[i]);
      weighted_ += row.p[i] * row.d[i];
    }
    weighted_ /= sum;
    for (size_t i = 0; i < row.t.size(); ++i) widest = std::fmax(widest, vanishes(i) ? 0 : row.d[i]);
    small_ = widest < 1e-3;
    for (size_t i = 0; i < row.t.size() && !small_; ++i) {
      low_ += std::exp(row.t[i] - row.d[i]);
      high_ += std::exp(row.t[i] + row.d[i]);
    }
  }

  double of(size_t i, double p) const {
    const double t = row_.t[i], d = row_.d[i];
    // For small shifts exp(d) <= 1 + d + d^2, and the sums change by at most exp(+-d), so no second
    // exponential is needed.
    if (small_ || vanishes(i))
      return p * 1.01 * ((1 - p) * d + std::fmax(weighted_ - p * d, 0)) + 0x1p-48 * p;
    if (d > 300) return 1;  // anything between 0 and 1; exp would overflow
    const double up = std::exp(t + d), down = std::exp(t - d);
    return std::fmax(up / (others(i, low_, down, -1) + up) - p, p - down / (others(i, high_, up, 1) + down)) +
           0x1p-48 * p;
  }

 private:
  // Whether the element is below e^-150 whatever the errors are: also if the maximum falls by its own error.
  bool vanishes(size_t i) const { return row_.t[i] + row_.d[i] <= least_max_ - 150; }

  // The sum but for element i, which is `own` in it. A difference would lose what is small beside it.
  double others(size_t i, double all, double own, double sign) const {
    if (own <= all / 2) return all - own;
    double rest = 0;
    for (size_t k = 0; k < row_.t.size(); ++k) rest += k == i ? 0 : std::exp(row_.t[k] + sign * row_.d[k]);
    return rest;
  }

  const Row& row_;
  double least_max_ = -kInfinity, weighted_ = 0, low_ = 0, high_ = 0;
  bool small_ = false;
};

void softmax_row(Row& row, const Arithmetic& arithmetic) {
  const size_t n = row.x.size();
  double max = 0;
  if (is_unknown(row)) return void(row.p.assign(n, 0)), void(row.e.assign(n, kInfinity));
  if (arithmetic.empty_rows_are_zero && is_row_of_minus_infinity(row))
    return void(row.p.assign(n, 0)), void(row.e.assign(n, 0));
  if (is_nan_row(row, max)) return void(row.p.assign(n, kNaN)), void(row.e.assign(n, 0));
  if (arithmetic.exp_scores == 0 && is_exact(row, max)) return exact_row(row, max);
  set_shifts(row, max, arithmetic);
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += row.p[i] = std::exp(row.t[i]);
  const InputErrors errors(row, sum);
  const double computing =
      (2 * arithmetic.exp + arithmetic.row_roundings(static_cast<double>(n)) + 2 + arithmetic.div) * kU *
      1.001;
  for (size_t i = 0; i < n; ++i) {
    const double p = row.p[i] / sum, from_inputs = errors.of(i, p);
    row.p[i] = p;
    row.e[i] =
        row.t[i] == -kInfinity ? 0 : from_inputs + computing * (p + from_inputs) + 2 * arithmetic.smallest;
  }
}

}  // namespace

Bounded reference(const Softmax& op, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  const Bounded& x = *in[0];
  const auto axis = static_cast<size_t>(*resolve_axis(op.axis, x.type.rank()));
  const auto n = static_cast<size_t>(x.type.shape[axis]);
  const auto stride = static_cast<size_t>(strides_of(x.type.shape)[axis]);
  Bounded y(out);
  y.e.resize(y.v.size());
  Row row;
  row.x.resize(n), row.dx.resize(n), row.t.resize(n), row.d.resize(n), row.p.resize(n), row.e.resize(n);
  for (size_t start = 0; start < x.v.size(); ++start) {
    if ((start / stride) % n != 0) continue;  // the first element of each row
    for (size_t i = 0; i < n; ++i) {
      row.x[i] = x.v[start + i * stride];
      row.dx[i] = x.error(start + i * stride);
    }
    softmax_row(row, arithmetic);
    for (size_t i = 0; i < n; ++i) {
      y.v[start + i * stride] = row.p[i];
      y.e[start + i * stride] = row.e[i];
    }
  }
  return y;
}

}  // namespace fusesmith::oracle::ref
