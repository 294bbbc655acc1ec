// matmul, linear, einsum: sums of K products in an f32 accumulator.
//
// - In any order, |got - v| <= (K + 2) u s / (1 - (K + 2) u) with s = sum |a_k b_k| (Higham, Accuracy and
//   Stability of Numerical Algorithms, section 3.1).
// - In a known order in which each term is affected by at most h roundings, h u s / (1 - h u) (section 4.2).
//
// The propagated errors of inexact inputs are added. e = 0 if only one term is not 0 and it is an f32 number,
// and if every term is a multiple of 2^g and s <= 2^(24+g), because then every partial sum in every order is
// an f32 number.
//
// tf32: an f32 operand a is read as a' with |a' - a| <= w |a|. w = 2^-10 if the lower 13 bits are cut off,
// half of that if they are rounded, and 0 if they are 0. With these errors of both operands, the propagated
// error is at most ((1 + w)^2 - 1) s = (2 w + w^2) s.
#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <limits>

#include "oracle/reference/sums.h"

namespace fusesmith::oracle::ref {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLargestF32 = std::numeric_limits<float>::max();

// One group of axes: sizes, and strides in the operands that have them (0 elsewhere).
struct Axes {
  Shape sizes, a, b, out;
  void add(int64_t size, int64_t stride_a, int64_t stride_b, int64_t stride_out) {
    sizes.push_back(size), a.push_back(stride_a), b.push_back(stride_b), out.push_back(stride_out);
  }
};

// Any of the three ops as a batch of matrix products read through strides.
struct ProductView {
  Axes batch, m, n, k;
};

// Whether x is an f32 whose lower 13 bits are 0 (NaN: whether it stays one).
bool is_tf32(double x) {
  const auto f = static_cast<float>(x);
  if (std::isnan(f)) return true;
  return static_cast<double>(f) == x && (std::bit_cast<uint32_t>(f) & 0x1fffu) == 0;
}

// An f32 operand as tensor cores may read it. Subnormals may be off by w times the smallest normal number.
// A value that may round to more than the largest tf32 number may become infinite.
Bounded read_as_tf32(const Bounded& x) {
  constexpr double w = 0x1p-10, overflows = 0x1.ffep127;
  Bounded read = x;
  for (size_t i = 0; i < x.v.size(); ++i) {
    const double e = x.error(i), largest = std::fabs(x.v[i]) + e;
    if (e == 0 && is_tf32(x.v[i])) continue;
    if (std::isinf(e)) continue;
    read.set(i, x.v[i], largest >= overflows ? kInfinity : e + w * std::fmax(largest, 0x1p-126));
  }
  return read;
}

// One operand of one batch element, gathered: values, magnitudes and errors; for each row (of a) or column
// (of b) its granularity, the number of nonzero elements, and whether it certainly contains NaN.
struct Operand {
  Matrix v, magnitude, e;
  std::vector<int> granularities, nonzeros;
  std::vector<bool> nan;
};

Operand gather(const Bounded& x, const std::vector<int64_t>& rows, const std::vector<int64_t>& cols,
               int64_t base, bool by_row) {
  const auto r = static_cast<Eigen::Index>(rows.size()), c = static_cast<Eigen::Index>(cols.size());
  const size_t lines = by_row ? rows.size() : cols.size();
  Operand o{Matrix(r, c),
            {},
            {},
            std::vector<int>(lines, kAnyGranularity),
            std::vector<int>(lines, 0),
            std::vector<bool>(lines, false)};
  const bool exact = x.exact();
  if (!exact) o.e.resize(r, c);
  for (Eigen::Index i = 0; i < r; ++i) {
    const auto row = static_cast<size_t>(base + rows[static_cast<size_t>(i)]);
    for (Eigen::Index j = 0; j < c; ++j) {
      const size_t at = row + static_cast<size_t>(cols[static_cast<size_t>(j)]);
      const double value = x.v[at];
      o.v(i, j) = value;
      if (!exact) o.e(i, j) = x.e[at];
      const auto line = static_cast<size_t>(by_row ? i : j);
      o.granularities[line] = std::min(o.granularities[line], granularity(value));
      o.nonzeros[line] += value != 0;
      if (std::isnan(value) && (exact || x.e[at] == 0)) o.nan[line] = true;
    }
  }
  // Tensor cores align terms by the exponent fields of the factors, so a subnormal is aligned like the
  // smallest normal number, and smaller terms beside it are truncated earlier (seen on an H200 with f16).
  const double normal = std::ldexp(1.0, min_exponent(x.type.dtype));
  o.magnitude = o.v.cwiseAbs().unaryExpr([=](double m) { return m > 0 && m < normal ? normal : m; });
  return o;
}

// A tf32 tensor core that adds slices of 4 products, aligned and truncated one bit below u of the largest,
// has an error of 5 u of it for each slice (A100; with slices of 8 or more the error is below 1 u for each
// term).
double roundings(double k, const Arithmetic& arithmetic) {
  const double any_order = arithmetic.tf32 ? 1.25 * k + 4 : k + 2;
  return arithmetic.sum_height > 0 ? std::fmin(any_order, arithmetic.sum_height) : any_order;
}

// What the errors of all elements with K products have in common.
struct SumError {
  SumError(double k, const Arithmetic& arithmetic)
      : n(roundings(k, arithmetic) * kU),
        relative(n / (1 - n)),
        of_reference(k * 0x1p-53),
        absolute(k * arithmetic.smallest_term) {}
  double n, relative;   // h u and h u / (1 - h u)
  double of_reference;  // relative, of the f64 sum
  double absolute;
};

// e of one element. s: sum of the magnitudes of finite terms; `inputs`: contribution of
// inexact inputs; g: granularity of the terms; `lone`: at most one term is nonzero. A partial sum may
// overflow in some order; if all terms have one sign, it overflows in every order or in none.
double product_error(double v, double s, double inputs, const SumError& sum, int g, bool lone,
                     bool one_sign) {
  const double magnitude = s + inputs;
  if (std::isnan(v)) return inputs == 0 ? 0 : kInfinity;
  if (!(magnitude < kLargestF32)) {
    const bool always =
        inputs == 0 && one_sign && std::isfinite(v) && s * (1 - 2 * sum.n) > kLargestF32 * (1 + kU);
    return always ? 0 : kInfinity;
  }
  if (std::isinf(v)) return inputs == 0 ? 0 : kInfinity;
  if (s == 0 && inputs == 0) return 0;
  if (inputs == 0 && (sums_are_exact(g, s, -126) || (lone && is_plain_f32(v)))) return 0;
  return inputs + sum.relative * magnitude + sum.of_reference * magnitude + sum.absolute;
}

struct Factors {
  const Bounded &a, &b;
  const Bounded* bias;  // indexed by the n axes
  const ProductView& view;
  const Arithmetic& arithmetic;
};

// For an infinite element: the sum of the magnitudes of its finite terms.
double finite_magnitude(const Operand& a, const Operand& b, Eigen::Index i, Eigen::Index j) {
  double sum = 0;
  for (Eigen::Index k = 0; k < a.v.cols(); ++k) {
    const double term = a.magnitude(i, k) * b.magnitude(k, j);
    if (std::isfinite(term)) sum += term;
  }
  return sum;
}

// The contribution of inexact inputs in a sum that also contains exact infinities.
double inputs_beside_infinity(const Operand& a, const Operand& b, Eigen::Index i, Eigen::Index j) {
  double sum = 0;
  for (Eigen::Index k = 0; k < a.v.cols(); ++k) {
    const double ea = a.e.size() > 0 ? a.e(i, k) : 0, eb = b.e.size() > 0 ? b.e(k, j) : 0;
    if (ea > 0) sum += ea * (b.magnitude(k, j) + eb);
    if (eb > 0) sum += a.magnitude(i, k) * eb;
  }
  return sum;
}

// Whether all terms of one element have the same sign.
bool one_sign(const Operand& a, const Operand& b, Eigen::Index i, Eigen::Index j, double bias) {
  bool up = bias > 0, down = bias < 0;
  for (Eigen::Index k = 0; k < a.v.cols(); ++k) {
    const double term = a.v(i, k) * b.v(k, j);
    up |= term > 0, down |= term < 0;
  }
  return !(up && down);
}

void multiply_batch(const Factors& p, const Operand& a, const Operand& b, int64_t out_base, Bounded& y) {
  const Matrix v = a.v * b.v;
  const Matrix s = a.magnitude * b.magnitude;
  const bool exact = p.a.exact() && p.b.exact() && (!p.bias || p.bias->exact());
  Matrix inputs;
  if (!exact) {
    inputs = Matrix::Zero(v.rows(), v.cols());
    if (!p.a.exact()) inputs += a.e * (p.b.exact() ? b.magnitude : Matrix(b.magnitude + b.e));
    if (!p.b.exact()) inputs += a.magnitude * b.e;
  }
  const auto out_m = offsets(p.view.m.sizes, p.view.m.out), out_n = offsets(p.view.n.sizes, p.view.n.out);
  const SumError error(static_cast<double>(a.v.cols()) + (p.bias ? 1 : 0), p.arithmetic);
  for (Eigen::Index i = 0; i < v.rows(); ++i) {
    for (Eigen::Index j = 0; j < v.cols(); ++j) {
      const auto column = static_cast<size_t>(j);
      const auto at = static_cast<size_t>(out_base + out_m[static_cast<size_t>(i)] + out_n[column]);
      if (a.nan[static_cast<size_t>(i)] || b.nan[column]) {  // regardless of the other terms
        y.set(at, kNaN, 0);
        continue;
      }
      double value = v(i, j), sum = std::isinf(value) ? finite_magnitude(a, b, i, j) : s(i, j);
      double from_inputs = exact ? 0 : inputs(i, j);
      if (std::isnan(from_inputs)) from_inputs = inputs_beside_infinity(a, b, i, j);
      int g = std::min(a.granularities[static_cast<size_t>(i)] + b.granularities[column], kAnyGranularity);
      if (p.bias) {
        value += p.bias->v[column];
        if (!std::isinf(p.bias->v[column])) sum += std::fabs(p.bias->v[column]);
        from_inputs += p.bias->error(column);
        g = std::min(g, granularity(p.bias->v[column]));
      }
      if (std::isnan(from_inputs)) from_inputs = kInfinity;
      const bool lone = !p.bias && std::min(a.nonzeros[static_cast<size_t>(i)], b.nonzeros[column]) <= 1;
      const bool huge = !(sum < 1e38);  // only then does the sign of terms matter
      const bool same_signs = huge && one_sign(a, b, i, j, p.bias ? p.bias->v[column] : 0);
      y.set(at, value, product_error(value, sum, from_inputs, error, g, lone, same_signs));
    }
  }
}

Bounded multiply_as_read(const Factors& p, const TensorType& out) {
  Bounded y(out);
  const ProductView& view = p.view;
  const auto batch_a = offsets(view.batch.sizes, view.batch.a),
             batch_b = offsets(view.batch.sizes, view.batch.b);
  const auto batch_out = offsets(view.batch.sizes, view.batch.out);
  const auto m = offsets(view.m.sizes, view.m.a), n = offsets(view.n.sizes, view.n.b);
  const auto k_a = offsets(view.k.sizes, view.k.a), k_b = offsets(view.k.sizes, view.k.b);
  Operand a, b;
  for (size_t i = 0; i < batch_out.size();
       ++i) {  // an operand with stride 0 along the batch is gathered once
    if (i == 0 || batch_a[i] != batch_a[i - 1]) a = gather(p.a, m, k_a, batch_a[i], true);
    if (i == 0 || batch_b[i] != batch_b[i - 1]) b = gather(p.b, k_b, n, batch_b[i], false);
    multiply_batch(p, a, b, batch_out[i], y);
  }
  return y;
}

Bounded multiply(const Factors& p, const TensorType& out) {
  Arithmetic arithmetic = p.arithmetic;
  arithmetic.tf32 = arithmetic.tf32 && p.a.type.dtype == Dtype::f32;
  if (!arithmetic.tf32) return multiply_as_read({p.a, p.b, p.bias, p.view, arithmetic}, out);
  const Bounded a = read_as_tf32(p.a), b = read_as_tf32(p.b);
  return multiply_as_read({a, b, p.bias, p.view, arithmetic}, out);
}

}  // namespace

Bounded reference(const Einsum& op, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  const EinsumLabels labels = *parse_equation(op.equation);
  const std::string letters = labels.out + labels.summed;
  const Shape &shape_a = in[0]->type.shape, &shape_b = in[1]->type.shape;
  const Shape sizes = *label_sizes(labels, shape_a, shape_b, letters);
  const Shape a = label_strides(labels.a, shape_a, letters), b = label_strides(labels.b, shape_b, letters);
  const Shape own = strides_of(out.shape);
  ProductView view;
  for (size_t i = 0; i < letters.size(); ++i) {
    const bool in_a = labels.a.find(letters[i]) != std::string::npos,
               in_b = labels.b.find(letters[i]) != std::string::npos;
    const bool summed = i >= labels.out.size();
    Axes& axes = summed ? view.k : in_a && in_b ? view.batch : in_a ? view.m : view.n;
    axes.add(sizes[i], a[i], b[i], summed ? 0 : own[i]);
  }
  return multiply({*in[0], *in[1], nullptr, view, arithmetic}, out);
}

Bounded reference(const Matmul& op, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  const Shape &sa = in[0]->type.shape, &sb = in[1]->type.shape;
  const size_t rank = out.shape.size();
  const Shape lead_out(out.shape.begin(), out.shape.end() - 2), own = strides_of(out.shape);
  const auto lead_strides = [&](const Shape& s) {
    const Shape lead(s.begin(), s.end() - 2);
    Shape strides = broadcast_strides(lead, lead_out);
    for (int64_t& stride : strides) stride *= s[s.size() - 1] * s[s.size() - 2];
    return strides;
  };
  const Shape a = lead_strides(sa), b = lead_strides(sb);
  ProductView view;
  for (size_t d = 0; d + 2 < rank; ++d) view.batch.add(out.shape[d], a[d], b[d], own[d]);
  const int64_t row_a = sa.back(), row_b = sb.back();
  const int64_t depth = op.transpose_a ? sa[sa.size() - 2] : sa.back();
  view.m.add(out.shape[rank - 2], op.transpose_a ? 1 : row_a, 0, own[rank - 2]);
  view.n.add(out.shape[rank - 1], 0, op.transpose_b ? row_b : 1, own[rank - 1]);
  view.k.add(depth, op.transpose_a ? row_a : 1, op.transpose_b ? 1 : row_b, 0);
  return multiply({*in[0], *in[1], nullptr, view, arithmetic}, out);
}

Bounded reference(const Linear&, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  const int64_t depth = in[0]->type.shape.back(), width = out.shape.back();
  ProductView view;
  view.m.add(element_count(in[0]->type) / depth, depth, 0, width);
  view.n.add(width, 0, depth, 1);
  view.k.add(depth, 1, 1, 0);
  return multiply({*in[0], *in[1], in.size() == 3 ? in[2] : nullptr, view, arithmetic}, out);
}

}  // namespace fusesmith::oracle::ref
