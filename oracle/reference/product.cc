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
// error is at most ((1 + w)^2 - 1) s = (2 w + w^2) s. Where it is known which of both is done, a' is exact
// for an exact a, but for ties.
//
// tf32x3: a = a1 + a2 + a3 with a1 and a2 in tf32, |a2| <= 2^-10 |a|, |a3| <= 2^-20 |a| if both are cut off,
// and the computed a1 b1 + a1 b2 + a2 b1 lacks a2 b2 and what has a3 or b3: (1 + 2 + small) 2^-20 |a b|. With
// w = 2^-19 the errors of both operands cover that. There are three terms for each product (3xTF32 of
// CUTLASS).
#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "oracle/reference/accumulator.h"
#include "oracle/reference/product_row.h"
#include "oracle/reference/sums.h"

namespace fusesmith::oracle::ref {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

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

enum class Tf32 : uint8_t { truncated_or_nearest, truncated, nearest, three_products };

// A finite f32 without its lower 13 bits.
double truncated_to_tf32(double x) {
  return static_cast<double>(
      std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(x)) & 0xffffe000u));
}

// The tf32 number nearest to a finite f32. Nothing for ties, and where it is infinite.
std::optional<double> nearest_tf32(double x) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(x));
  const auto y = static_cast<double>(std::bit_cast<float>((bits + 0x1000u) & 0xffffe000u));
  if ((bits & 0x1fffu) == 0x1000u || !std::isfinite(y)) return std::nullopt;
  return y;
}

// An f32 operand as tensor cores may read it, as one number of tf32 or as two. The smallest of these is
// 2^-136. A value that may round to more than the largest tf32 number may become infinite.
Bounded read_as_tf32(const Bounded& x, Tf32 how) {
  constexpr double overflows = 0x1.ffep127;
  const double w = how == Tf32::three_products ? 0x1p-19 : how == Tf32::nearest ? 0x1p-11 : 0x1p-10;
  Bounded read = x;
  for (size_t i = 0; i < x.v.size(); ++i) {
    const double e = x.error(i), largest = std::fabs(x.v[i]) + e;
    if (e == 0 && is_tf32(x.v[i])) continue;
    if (std::isinf(e)) continue;
    const bool is_f32 = e == 0 && static_cast<double>(static_cast<float>(x.v[i])) == x.v[i];
    const auto nearest = is_f32 && how == Tf32::nearest ? nearest_tf32(x.v[i]) : std::nullopt;
    if (is_f32 && how == Tf32::truncated)
      read.set(i, truncated_to_tf32(x.v[i]), 0);
    else if (nearest)
      read.set(i, *nearest, 0);
    else
      read.set(i, x.v[i], largest >= overflows ? kInfinity : e + std::fmax(w * largest, 0x1p-136));
  }
  return read;
}

// Nothing: operands are read as they are.
std::optional<Tf32> tf32_of(const Arithmetic& arithmetic) {
  if (arithmetic.tf32 || (arithmetic.tf32_truncated && arithmetic.tf32_nearest))
    return Tf32::truncated_or_nearest;
  if (arithmetic.tf32_truncated) return Tf32::truncated;
  if (arithmetic.tf32_nearest) return Tf32::nearest;
  return arithmetic.tf32x3 ? std::optional(Tf32::three_products) : std::nullopt;
}

// What the rows of the left operand, or the columns of the right one, have in common.
struct Lines {
  std::vector<double> unit;      // a power of two of which all elements are multiples; kAnyUnit of zeros
  std::vector<int64_t> nonzero;  // elements
  std::vector<int64_t> nan;      // elements that are NaN with e = 0

  explicit Lines(size_t count = 0) : unit(count, kAnyUnit), nonzero(count, 0), nan(count, 0) {}
};

// One operand of one batch element, gathered: values, magnitudes and errors.
struct Operand {
  Matrix v, magnitude, e;
  Lines lines;
};

// Magnitudes, and what the rows (of a left operand) or columns (of a right one) have in common.
//
// Tensor cores align terms by the exponent fields of the factors, so a subnormal is aligned like the smallest
// normal number, and smaller terms beside it are truncated earlier (seen on an H200 with f16).
void look_at(Operand& o, bool by_row, double normal) {
  const auto n = static_cast<size_t>(o.v.cols());
  o.magnitude.resize(o.v.rows(), o.v.cols());
  o.lines = Lines(static_cast<size_t>(by_row ? o.v.rows() : o.v.cols()));
  for (Eigen::Index i = 0; i < o.v.rows(); ++i) {
    const double* const v = o.v.row(i).data();
    const double* const e = o.e.size() > 0 ? o.e.row(i).data() : nullptr;
    double* const magnitude = o.magnitude.row(i).data();
    if (!by_row) {
      look_at_columns(v, e, n, normal, magnitude, o.lines.unit.data(), o.lines.nonzero.data(),
                      o.lines.nan.data());
      continue;
    }
    const LineFacts facts = look_at_row(v, n, normal, magnitude);
    const auto line = static_cast<size_t>(i);
    o.lines.unit[line] = facts.unit;
    o.lines.nonzero[line] = facts.nonzero;
    for (size_t j = 0; facts.nan > 0 && j < n; ++j)
      o.lines.nan[line] += std::isnan(v[j]) && (!e || e[j] == 0);
  }
}

// Copies x[base + rows[i] + columns[j]] to row i and column j.
void gather_matrix(const std::vector<double>& x, const std::vector<int64_t>& rows,
                   const std::vector<int64_t>& columns, int64_t base, Matrix& to) {
  to.resize(static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(columns.size()));
  bool contiguous = true;
  for (size_t j = 0; j < columns.size(); ++j) contiguous &= columns[j] == static_cast<int64_t>(j);
  double* out = to.data();
  for (const int64_t row : rows) {
    const double* const from = x.data() + base + row;
    if (contiguous) {
      out = std::copy_n(from, columns.size(), out);
    } else {
      for (const int64_t column : columns) *out++ = from[column];
    }
  }
}

void gather(const Bounded& x, const std::vector<int64_t>& rows, const std::vector<int64_t>& columns,
            int64_t base, bool by_row, Operand& o) {
  gather_matrix(x.v, rows, columns, base, o.v);
  if (!x.exact()) gather_matrix(x.e, rows, columns, base, o.e);
  look_at(o, by_row, std::ldexp(1.0, min_exponent(x.type.dtype)));
}

// Products of quantized factors that an accumulator adds have the bound of accumulator.h, and the roundings
// of the sums in f32 to which it is added.
bool accumulates(const Bounded& a, const Arithmetic& arithmetic) {
  const bool dequantized = a.type.dtype == Dtype::f32 && arithmetic.accumulates_dequantized;
  return (is_quantized(a.type.dtype) || dequantized) && arithmetic.accumulator.group > 0;
}

// Of operands that were multiplied by scales, the powers of two in them are below those of the codes times
// the scales by a factor of less than two for each of both, so that a cut is up to 4 times as large.
Accumulator accumulator_of(const Bounded& a, const Arithmetic& arithmetic) {
  Accumulator unit = arithmetic.accumulator;
  if (!is_quantized(a.type.dtype)) unit.fraction_bits -= 2, unit.out_bits -= 2;
  return unit;
}

// A tf32 tensor core that adds slices of 4 products, aligned and truncated one bit below u of the largest,
// has an error of 5 u of it for each slice (A100; with slices of 8 or more the error is below 1 u for each
// term).
double roundings(double k, const Arithmetic& arithmetic) {
  const double any_order = arithmetic.tf32x3 ? 3.75 * k + 4 : arithmetic.tf32 ? 1.25 * k + 4 : k + 2;
  double most = arithmetic.sum_height > 0 ? std::fmin(any_order, arithmetic.sum_height) : any_order;
  if (arithmetic.probable_sums && !arithmetic.tf32 && !arithmetic.tf32x3)
    most = std::fmin(most, 4 * std::sqrt(k) + 2);
  return arithmetic.sum * most;
}

SumError sum_error(double k, const Arithmetic& arithmetic) {
  const double n = roundings(k, arithmetic) * kU;
  return {n, n < 0.5 ? n / (1 - n) : kInfinity, k * 0x1p-53, k * arithmetic.smallest_term};
}

struct Factors {
  const Bounded &a, &b;
  const Bounded* bias;  // indexed by the n axes
  const ProductView& view;
  const Arithmetic& arithmetic;
};

// The number of terms that are added in f32.
double added_in_f32(const Factors& p) {
  const auto k = static_cast<double>(element_count(p.view.k.sizes));
  if (!accumulates(p.a, p.arithmetic)) return k;
  const int every = p.arithmetic.accumulator.promote_every;
  if (every == Accumulator::kAnywhere) return std::ceil(k / p.arithmetic.accumulator.group);
  return every > 0 ? std::ceil(k / every) : 1;
}

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

// Whether a term is NaN only where the left factor is exactly 0. `value`: the sum of the other terms.
bool is_nan_of_zeros(const Operand& a, const Operand& b, Eigen::Index i, Eigen::Index j, double& value) {
  double sum = 0;
  bool any = false;
  for (Eigen::Index k = 0; k < a.v.cols(); ++k) {
    const double term = a.v(i, k) * b.v(k, j);
    const bool is_zero = a.v(i, k) == 0 && (a.e.size() == 0 || a.e(i, k) == 0);
    if (std::isnan(term) && !is_zero) return false;
    if (std::isnan(term))
      any = true;
    else
      sum += term;
  }
  value = sum;
  return any && std::isfinite(sum);
}

// Whether a term is exactly 0 times an infinity, so that the element is NaN whatever the errors of others
// are.
bool has_exact_nan(const Operand& a, const Operand& b, Eigen::Index i, Eigen::Index j) {
  const auto is_exact = [](const Operand& o, Eigen::Index row, Eigen::Index column) {
    return o.e.size() == 0 || o.e(row, column) == 0;
  };
  for (Eigen::Index k = 0; k < a.v.cols(); ++k) {
    if (std::isnan(a.v(i, k) * b.v(k, j)) && is_exact(a, i, k) && is_exact(b, k, j)) return true;
  }
  return false;
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

// One batch element of a product, and memory that the next one uses again.
class Batch {
 public:
  Batch(const Factors& p, Bounded& y)
      : p_(p),
        y_(y),
        exact_(p.a.exact() && p.b.exact() && (!p.bias || p.bias->exact())),
        out_m_(offsets(p.view.m.sizes, p.view.m.out)),
        out_n_(offsets(p.view.n.sizes, p.view.n.out)),
        value_(out_n_.size()),
        e_(out_n_.size()),
        bias_v_(out_n_.size(), -0.0),
        bias_e_(out_n_.size(), 0),
        bias_unit_(out_n_.size(), kAnyUnit),
        error_(sum_error(added_in_f32(p) + (p.bias ? 1 : 0), p.arithmetic)) {
    y.e.resize(y.v.size());
    if (!p.bias) return;
    bias_v_ = p.bias->v;
    if (!p.bias->exact()) bias_e_ = p.bias->e;
    std::transform(bias_v_.begin(), bias_v_.end(), bias_unit_.begin(), unit_of);
  }

  void multiply(const Operand& a, const Operand& b, int64_t out_base) {
    v_.noalias() = a.v * b.v;
    s_.noalias() = a.magnitude * b.magnitude;
    inputs_.setZero(v_.rows(), v_.cols());
    if (!p_.a.exact()) inputs_ += a.e * (p_.b.exact() ? b.magnitude : Matrix(b.magnitude + b.e));
    if (!p_.b.exact()) inputs_ += a.magnitude * b.e;
    if (p_.arithmetic.probable_sums && !exact_) take_probable_errors(a, b);
    for (Eigen::Index i = 0; i < v_.rows(); ++i) {
      if (!plain_row(a, b, i)) special_elements(a, b, i);
      if (accumulates(p_.a, p_.arithmetic)) add_accumulator_errors(a, b, i);
      double* const v = y_.v.data() + out_base + out_m_[static_cast<size_t>(i)];
      double* const e = y_.e.data() + out_base + out_m_[static_cast<size_t>(i)];
      for (size_t j = 0; j < out_n_.size(); ++j) v[out_n_[j]] = value_[j], e[out_n_[j]] = e_[j];
    }
  }

 private:
  // A sum of errors that is NaN stays so.
  void take_probable_errors(const Operand& a, const Operand& b) {
    Matrix squares = Matrix::Zero(v_.rows(), v_.cols());
    const auto square = [](const Matrix& m) -> Matrix { return m.cwiseAbs2(); };
    if (!p_.a.exact())
      squares += square(a.e) * square(p_.b.exact() ? b.magnitude : Matrix(b.magnitude + b.e));
    if (!p_.b.exact()) squares += square(a.magnitude) * square(b.e);
    for (Eigen::Index i = 0; i < squares.size(); ++i) {
      double& sum = inputs_.data()[i];
      const double probable = 4 * std::sqrt(squares.data()[i]);
      if (probable < sum) sum = probable;
    }
  }

  // Whether all elements of the row are finite and cannot overflow.
  bool plain_row(const Operand& a, const Operand& b, Eigen::Index i) {
    const ProductRow row{out_n_.size(),
                         v_.row(i).data(),
                         s_.row(i).data(),
                         inputs_.row(i).data(),
                         bias_v_.data(),
                         bias_e_.data(),
                         bias_unit_.data(),
                         b.lines.unit.data(),
                         b.lines.nonzero.data(),
                         exact_unit_ * a.lines.unit[static_cast<size_t>(i)],
                         a.lines.nonzero[static_cast<size_t>(i)],
                         p_.bias ? -1 : 1};
    return bound_row(row, error_, value_.data(), e_.data());
  }

  void add_accumulator_errors(const Operand& a, const Operand& b, Eigen::Index i) {
    const double normal_a = std::ldexp(1.0, min_exponent(p_.a.type.dtype)),
                 normal_b = std::ldexp(1.0, min_exponent(p_.b.type.dtype));
    const auto error_at = [](const Matrix& e, Eigen::Index row, Eigen::Index column) {
      return e.size() > 0 ? e(row, column) : 0;
    };
    const auto aligned = [](double magnitude, double e, double normal) {
      return magnitude + e > 0 ? binade_of(std::fmax(magnitude + e, normal)) : 0;
    };
    const Accumulator unit = accumulator_of(p_.a, p_.arithmetic);
    for (Eigen::Index j = 0; j < v_.cols(); ++j) {
      double& e = e_[static_cast<size_t>(j)];
      if (!std::isfinite(value_[static_cast<size_t>(j)]) || std::isinf(e)) continue;
      e += accumulator_error(unit, a.v.cols(), [&](int64_t k) {
        const double of_a = error_at(a.e, i, k), of_b = error_at(b.e, k, j);
        const double from_inputs = of_a * (b.magnitude(k, j) + of_b) + a.magnitude(i, k) * of_b;
        return AlignedTerm{
            a.v(i, k) * b.v(k, j), from_inputs,
            aligned(a.magnitude(i, k), of_a, normal_a) * aligned(b.magnitude(k, j), of_b, normal_b)};
      });
    }
  }

  // The elements of a row that are not finite, or may overflow.
  void special_elements(const Operand& a, const Operand& b, Eigen::Index i) {
    for (Eigen::Index j = 0; j < v_.cols(); ++j) {
      const auto column = static_cast<size_t>(j), row = static_cast<size_t>(i);
      double &value = value_[column], &e = e_[column];
      value = v_(i, j);
      if (p_.arithmetic.hidden_keys_left_out && std::isnan(value) && is_nan_of_zeros(a, b, i, j, value)) {
        e = kInfinity;
        continue;
      }
      const bool has_nan = a.lines.nan[row] > 0 || b.lines.nan[column] > 0;
      if (has_nan || (std::isnan(value) && has_exact_nan(a, b, i, j))) {  // regardless of the other terms
        value = kNaN, e = 0;
        continue;
      }
      double sum = std::isinf(value) ? finite_magnitude(a, b, i, j) : s_(i, j);
      double from_inputs = exact_ ? 0 : inputs_(i, j);
      if (std::isnan(from_inputs)) from_inputs = inputs_beside_infinity(a, b, i, j);
      double unit = exact_unit_ * a.lines.unit[row] * b.lines.unit[column];
      if (p_.bias) {
        const double bias = p_.bias->v[column];
        value += bias;
        if (!std::isinf(bias)) sum += std::fabs(bias);
        from_inputs += p_.bias->error(column);
        unit = std::fmin(unit, unit_of(bias));
      }
      if (std::isnan(from_inputs)) from_inputs = kInfinity;
      const bool lone = !p_.bias && std::min(a.lines.nonzero[row], b.lines.nonzero[column]) <= 1;
      const bool huge = !(sum < 1e38);  // only then does the sign of terms matter
      const bool same_signs = huge && one_sign(a, b, i, j, p_.bias ? p_.bias->v[column] : 0);
      e = product_error(value, sum, from_inputs, error_, unit, lone, same_signs);
    }
  }

  const Factors& p_;
  Bounded& y_;
  bool exact_;
  double exact_unit_ = p_.arithmetic.sum == 1 ? 1 : 0;  // 0: no sum is exact
  Matrix v_, s_, inputs_;
  std::vector<int64_t> out_m_, out_n_;
  std::vector<double> value_, e_;  // of one row
  // Without a bias, what changes nothing: adding -0 keeps the signs of zeros.
  std::vector<double> bias_v_, bias_e_, bias_unit_;
  SumError error_;
};

Bounded multiply_as_read(const Factors& p, const TensorType& out) {
  Bounded y(out);
  const ProductView& view = p.view;
  const auto batch_a = offsets(view.batch.sizes, view.batch.a),
             batch_b = offsets(view.batch.sizes, view.batch.b);
  const auto batch_out = offsets(view.batch.sizes, view.batch.out);
  const auto m = offsets(view.m.sizes, view.m.a), n = offsets(view.n.sizes, view.n.b);
  const auto k_a = offsets(view.k.sizes, view.k.a), k_b = offsets(view.k.sizes, view.k.b);
  Operand a, b;
  Batch batch(p, y);
  for (size_t i = 0; i < batch_out.size();
       ++i) {  // an operand with stride 0 along the batch is gathered once
    if (i == 0 || batch_a[i] != batch_a[i - 1]) gather(p.a, m, k_a, batch_a[i], true, a);
    if (i == 0 || batch_b[i] != batch_b[i - 1]) gather(p.b, k_b, n, batch_b[i], false, b);
    batch.multiply(a, b, batch_out[i]);
  }
  y.forget_zero_errors();
  return y;
}

Bounded multiply(const Factors& p, const TensorType& out) {
  const auto how = p.a.type.dtype == Dtype::f32 ? tf32_of(p.arithmetic) : std::nullopt;
  Arithmetic arithmetic = p.arithmetic;
  arithmetic.tf32 = how && how != Tf32::three_products;
  arithmetic.tf32x3 = how == Tf32::three_products;
  if (!how) return multiply_as_read({p.a, p.b, p.bias, p.view, arithmetic}, out);
  const Bounded a = read_as_tf32(p.a, *how), b = read_as_tf32(p.b, *how);
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
