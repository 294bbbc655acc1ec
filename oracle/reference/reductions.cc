// reduce_sum, reduce_mean, reduce_max, logsumexp, var_mean.
//
// sum: each of the h additions (RowSums::height; n - 1 in any order) rounds once, and the last rounding is
// that of the result: (h - 1) u s / (1 - n u), s = sum |x| (Higham, section 4.2). 0 if every order is exact.
//
// mean: the error of the sum with all h roundings, divided by n. If n is not a power of two, the error of the
// division, or of a product with the rounded 1 / n, is added. Unknown if the sum may overflow, because a
// kernel may scale first.
//
// max: the maximum of intervals.
//
// logsumexp: let m be the maximum and t_i = x_i - m. Each t_i has an error of at most d_i = dx_i + u |t_i|
// (the subtraction rounds; if m is inexact too, t_i increases by the error of m). The result then changes by
// at most log(sum p_i exp(d_i)), where p_i = exp(t_i) / S and S = sum exp(t). It decreases by less than it
// increases (Jensen). Exponentials and h additions give S a relative error of r = eps_exp u + h u, which
// changes the logarithm by -log(1 - r), and log adds eps_log u |log S|. The last addition is the rounding of
// the result. e = 0 if every other element is smaller than m by 104 or more: then S = 1, and log 1 = 0.
//
// logsumexp of parts L_i, with weights p_i = exp(L_i - L): a rounding of each part changes L by at most u sum
// p_i |L_i| <= u (|L| + sum p_i log(1 / p_i)) <= u (|L| + log n); exponentials, their sum and the logarithm
// add (eps_exp + 3) u + eps_log u log n in each level of merges.
//
// var_mean: see statistics.h.
#include <algorithm>

#include "oracle/reference/statistics.h"
#include "oracle/reference/sums.h"

namespace fusesmith::oracle::ref {
namespace {

struct Row {
  std::vector<double> x, dx;
  bool exact;
  bool probable;  // Arithmetic::probable_sums
};

// Calls f(row, i) for every result i.
template <class F>
void for_each_reduced(const Bounded& x, const Shape& axes, const Arithmetic& arithmetic, F f) {
  const ReducedRows rows = reduced_rows(x.type.shape, *resolve_axes(axes, x.type.rank()));
  Row row{std::vector<double>(rows.step.size()), std::vector<double>(rows.step.size(), 0), x.exact(),
          arithmetic.probable_sums};
  for (size_t i = 0; i < rows.first.size(); ++i) {
    for (size_t k = 0; k < rows.step.size(); ++k) {
      const auto at = static_cast<size_t>(rows.first[i] + rows.step[k]);
      row.x[k] = x.v[at];
      row.dx[k] = x.error(at);
    }
    f(row, i);
  }
}

// The result for a row that contains NaN or unknown elements.
std::optional<Element> exceptional(const Row& row) {
  bool unknown = false;
  for (size_t k = 0; k < row.x.size(); ++k) {
    if (std::isnan(row.x[k]) && row.dx[k] == 0) return Element{kNaN, 0};
    unknown |= row.dx[k] == kInfinity || std::isnan(row.x[k]);
  }
  if (unknown) return Element{0, kInfinity};
  return std::nullopt;
}

struct Sum {
  double v = 0, magnitude = 0, inputs = 0;  // magnitude and inputs: of the finite terms
  int g = kAnyGranularity;
  bool up = false, down = false;  // terms above and below 0

  explicit Sum(const Row& row) {
    double squares = 0;
    for (size_t k = 0; k < row.x.size(); ++k) {
      const double x = row.x[k];
      v += x;
      inputs += row.dx[k];
      squares += row.dx[k] * row.dx[k];
      if (std::isfinite(x)) magnitude += std::fabs(x);
      g = std::min(g, granularity(x));
      up |= x + row.dx[k] > 0, down |= x - row.dx[k] < 0;
    }
    if (row.probable) inputs = std::fmin(inputs, 4 * std::sqrt(squares));
  }
  bool may_overflow() const { return !(magnitude + inputs < max_finite(Dtype::f32)); }
  bool exact() const { return inputs == 0 && sums_are_exact(g, magnitude); }
};

// The sum before its last rounding, of which `additions` round earlier; more than n: in 16 bits.
Element bounded_sum(const Row& row, double additions) {
  if (const auto special = exceptional(row)) return *special;
  const Sum sum(row);
  const auto n = static_cast<double>(row.x.size());
  const double growth = std::fmax(additions, n) * kU;
  const double roundings =
      growth < 0.5 ? std::fmax(additions, 0) * kU / (1 - growth) + n * 0x1p-53 : kInfinity;
  if (sum.may_overflow()) {  // in some order; in every order if all terms have one sign
    const bool always = sum.inputs == 0 && std::isfinite(sum.v) && !(sum.up && sum.down) &&
                        sum.magnitude * (1 - 2 * roundings) > max_finite(Dtype::f32) * (1 + kU);
    return {sum.v, always ? 0 : kInfinity};
  }
  if (!std::isfinite(sum.v)) return {sum.v, 0};
  const bool in_f32 = additions <= n;
  if ((sum.exact() && in_f32) || n == 1) return {sum.v, sum.inputs};
  return {sum.v, sum.inputs + roundings * (sum.magnitude + sum.inputs)};
}

// The sum of quotients by n: each is rounded, as is 1 / n.
double error_of_quotients(const Row& row, const Sum& sum, const Arithmetic& arithmetic) {
  const auto n = static_cast<double>(row.x.size());
  const double roundings = (arithmetic.row_roundings(n) + 2) * kU / (1 - (n + 2) * kU) + n * 0x1p-53;
  return (sum.inputs + roundings * (sum.magnitude + sum.inputs)) / n + n * arithmetic.smallest_term;
}

// The steps of a running mean have as many roundings as those of Welford's algorithm (statistics.cc).
double error_of_running_mean(const Row& row, const Sum& sum) {
  const auto n = static_cast<double>(row.x.size());
  return (sum.inputs + (n + 3 * std::log(n) + 8) * kU * (sum.magnitude + sum.inputs)) / n;
}

Element mean_of(const Row& row, const Arithmetic& arithmetic) {
  const size_t n = row.x.size();
  const auto count = static_cast<double>(n);
  const Element sum = bounded_sum(row, arithmetic.row_roundings(count));
  if (!std::isfinite(sum.v)) return sum;
  const Sum terms(row);
  if (terms.may_overflow()) return {sum.v / count, kInfinity};
  const double v = sum.v / count;
  const double running = arithmetic.running_means ? error_of_running_mean(row, terms) : 0;
  const double e = std::fmax(sum.e / count, running);
  if (is_power_of_two(n)) return {v, e};
  const double divided = e + (arithmetic.div * kU + 0x1p-52) * (std::fabs(v) + e);
  if (!arithmetic.means_of_quotients) return {v, divided};
  return {v, std::fmax(divided, error_of_quotients(row, terms, arithmetic))};
}

Element max_of(const Row& row) {
  if (const auto special = exceptional(row)) return *special;
  double v = -kInfinity, lo = -kInfinity, hi = -kInfinity;
  for (size_t k = 0; k < row.x.size(); ++k) {
    const bool above = row.x[k] > v || (row.x[k] == v && std::signbit(v));
    v = above ? row.x[k] : v;
    lo = std::fmax(lo, row.x[k] - row.dx[k]);
    hi = std::fmax(hi, row.x[k] + row.dx[k]);
  }
  return {v, std::isinf(v) ? 0 : std::fmax(hi - v, v - lo)};
}

// How far each t_i = x_i - max may be off, with what the exponential adds to its argument.
std::vector<double> shifts_of(const Row& row, double max, double exp_argument) {
  const Element top = max_of(row);
  std::vector<double> shifts;
  for (size_t k = 0; k < row.x.size(); ++k) {
    const double t = row.x[k] - max;
    shifts.push_back(
        t == -kInfinity ? 0 : row.dx[k] + kU * (1 + exp_argument) * (std::fabs(t) + row.dx[k] + top.e));
  }
  return shifts;
}

// log(sum exp(t_i + d_i)) - log(sum exp(t_i)).
double rise_of(const Row& row, double max, const std::vector<double>& d, double sum) {
  const double widest = *std::max_element(d.begin(), d.end());
  if (!(widest < 1)) {  // exp(widest) may overflow: exact enough without
    double raised = 0;
    for (size_t k = 0; k < d.size(); ++k) raised += std::exp(row.x[k] - max + d[k] - widest);
    return widest + std::log(raised / sum);
  }
  double growth = 0;
  for (size_t k = 0; k < d.size(); ++k) growth += std::exp(row.x[k] - max) * std::expm1(d[k]);
  return std::log1p(growth / sum);
}

// Exact inputs, all but one of them far below it.
bool has_one_term(const Row& row, double max) {
  size_t near = 0;
  for (size_t k = 0; k < row.x.size(); ++k) {
    if (row.dx[k] != 0) return false;
    near += max - row.x[k] < 104;
  }
  return near == 1;
}

// Of a result L that is merged from parts, in at most as many levels as a sum of n terms has.
double error_of_merges(double result, double n, const Arithmetic& arithmetic) {
  const double of_level = std::fabs(result) + (1 + arithmetic.log) * std::log(n) + arithmetic.exp + 3;
  return arithmetic.row_roundings(n) * kU * of_level;
}

Element log_sum_exp_of(const Row& row, const Arithmetic& arithmetic) {
  if (const auto special = exceptional(row)) return *special;
  const double max = max_of(row).v;
  if (std::isinf(max) || has_one_term(row, max)) return {max, 0};
  const auto n = static_cast<double>(row.x.size());
  double sum = 0;
  for (double x : row.x) sum += std::exp(x - max);
  const double added = arithmetic.row_roundings(n) * kU, v = std::log(sum);
  if (!(added < 0.5)) return {max + v, kInfinity};
  const double relative = (1 + arithmetic.exp * kU) * (1 + added / (1 - added)) - 1 + n * arithmetic.smallest;
  const double before_log =
      rise_of(row, max, shifts_of(row, max, arithmetic.exp_argument), sum) - std::log1p(-relative);
  const double merges = arithmetic.merged_logsumexp ? error_of_merges(max + v, n, arithmetic) : 0;
  const double e = merges + before_log + arithmetic.log * kU * (v + before_log) + (n + 8 * v) * 0x1p-53;
  return {max + v, std::isnan(e) ? kInfinity : e};
}

template <class F>
Bounded reduced(const Bounded& x, const Shape& axes, const TensorType& out, const Arithmetic& arithmetic,
                F f) {
  Bounded y(out);
  for_each_reduced(x, axes, arithmetic, [&](const Row& row, size_t i) {
    const Element r = f(row);
    y.set(i, r.v, r.e);
  });
  return y;
}

// The variance is off by up to `smallest` where squares underflow, and unknown where they may overflow.
// A division by a number that is no power of two may be a product with its rounded inverse, if eps_div > 1.
Element variance_of(const Row& row, const Statistics& s, double correction, const Arithmetic& arithmetic) {
  const auto n = static_cast<double>(row.x.size());
  for (double x : row.x) {
    if (!std::isfinite(x)) return {kNaN, row.exact ? 0 : kInfinity};
  }
  if (n <= correction) return {kNaN, 0};
  const double share = n / (n - correction), v = s.variance * share;
  if (!(v * n < 1e38) || !std::isfinite(s.mean_error)) return {v, kInfinity};
  const auto divisor = static_cast<size_t>(n - correction);
  const bool exact = s.variance_error == 0 && is_power_of_two(row.x.size()) && is_power_of_two(divisor);
  if (s.variance_error == 0 && (s.variance == 0 || (exact && is_plain_f32(v)))) return {v, 0};
  const double dividing = is_power_of_two(divisor) ? 0 : (arithmetic.div - 1) * kU * v;
  const double e = s.variance_error * share * (1 + 0x1p-40) + dividing + arithmetic.smallest;
  return {v, std::isnan(e) ? kInfinity : e};
}

}  // namespace

Bounded reference(const ReduceSum& op, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  return reduced(*in[0], op.axes, out, arithmetic, [&](const Row& row) {
    return bounded_sum(row, arithmetic.row_roundings(static_cast<double>(row.x.size())) - 1);
  });
}

Bounded reference(const ReduceMean& op, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  return reduced(*in[0], op.axes, out, arithmetic, [&](const Row& row) { return mean_of(row, arithmetic); });
}

Bounded reference(const ReduceMax& op, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  return reduced(*in[0], op.axes, out, arithmetic, max_of);
}

Bounded reference(const LogSumExp& op, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  return reduced(*in[0], op.axes, out, arithmetic,
                 [&](const Row& row) { return log_sum_exp_of(row, arithmetic); });
}

// Bounds of statistics.h; the mean of a row that is not finite is that of reduce_mean.
std::vector<Bounded> reference(const VarMean& op, BoundedSpan in, TypeSpan out,
                               const Arithmetic& arithmetic) {
  std::vector<Bounded> y{Bounded(out[0]), Bounded(out[1])};
  for_each_reduced(*in[0], op.axes, arithmetic, [&](const Row& row, size_t i) {
    const Statistics s =
        statistics({row.x.data(), row.exact ? nullptr : row.dx.data(), row.x.size()}, arithmetic);
    const Element var = variance_of(row, s, static_cast<double>(op.correction), arithmetic);
    y[0].set(i, var.v, var.e);
    const bool finite = std::isfinite(s.mean) && std::isfinite(s.variance);
    const Element mean = finite ? Element{s.mean, s.mean_error} : mean_of(row, arithmetic);
    y[1].set(i, mean.v, mean.e);
  });
  return y;
}

}  // namespace fusesmith::oracle::ref
