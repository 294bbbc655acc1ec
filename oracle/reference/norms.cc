// layer_norm, group_norm: y = (x - m) r w + b with r = 1 / sqrt(var + eps) and the statistics of
// statistics.h. rms_norm: y = x r w with r = 1 / sqrt(q + eps). q = mean(x^2) has terms of one sign, so that
// h additions (RowSums::height), a square and a division have the relative error (h + 3) u; inexact inputs
// add mean(2 |x| dx + dx^2).
//
// e = 0 if x - m is exactly 0, whatever r is, and if var (or q) is a power of four to which eps adds nothing:
// then r is a power of two, and no product rounds before the last operation.
#include <cmath>

#include "oracle/reference/ops.h"
#include "oracle/reference/statistics.h"
#include "oracle/reference/sums.h"

namespace fusesmith::oracle::ref {
namespace {

struct InverseRoot {
  Element r;
  double lost = 0;  // by how much r is larger than what a kernel in f64 has, relatively
};

// 1 / sqrt(total) and its relative error: (1 - dt)^(-1/2) - 1, the larger side; unbounded where the total may
// vanish. dt holds the error of what is added to eps, and the addition rounds. The root may also be taken as
// sqrt, and divided by, or inverted by a division.
InverseRoot inverse_root(double total, double error, const Arithmetic& arithmetic) {
  const auto rounded = static_cast<double>(static_cast<float>(total));
  // Exact but for what the addition rounds away.
  if (const double away = std::fabs(rounded - total) / total;
      error == 0 && is_power_of_four(rounded) && away < 0x1.fp-25)
    return {{1 / std::sqrt(rounded), 0}, 0.5001 * away};
  const double units = std::fmax(arithmetic.rsqrt, arithmetic.sqrt + arithmetic.div);
  const double dt = (error + kU * total) / total;
  return {
      {1 / std::sqrt(total), (dt < 1 ? 1 / std::sqrt(1 - dt) : kInfinity) * (1 + units * kU) - 1 + 0x1p-50}};
}

// (c +- dc) r, rounded.
Element scaled(double c, double dc, Element r) {
  const double v = c * r.v;
  if (dc == 0 && (c == 0 || (r.e == 0 && is_plain_f32(v)))) return {v, 0};
  return {v, (r.v * dc * (1 + r.e) + std::fabs(v) * r.e) * (1 + kU) + kU * std::fabs(v) + 0x1p-149};
}

// Weight and bias of the elements of one row: element j belongs to channel (first + j) / plane % channels.
struct Affine {
  const Bounded *weight, *bias;
  size_t plane, channels;

  Element at(const Bounded* x, size_t element, double otherwise) const {
    const size_t channel = element / plane % channels;
    return x ? Element{x->v[channel], x->error(channel)} : Element{otherwise, 0};
  }
};

// normal w + b where neither rounds before the last operation.
bool is_exact(Element normal, Element w, Element b, double product, double v) {
  if (normal.e > 0 || w.e > 0 || b.e > 0 || !std::isfinite(v)) return false;
  if (product != 0 && std::fabs(product) < 0x1p-126) return false;
  return b.v == 0 || (is_plain_f32(product) && v - product == b.v && v - b.v == product);
}

// normal w + b. Unknown where the product may overflow, or where its sign with an infinite weight is
// undetermined.
Element affine_transform(Element normal, Element w, Element b, double smallest) {
  const double product = normal.v * w.v;
  const double dproduct =
      std::fabs(w.v) * normal.e + w.e * (std::fabs(normal.v) + normal.e) + kU * std::fabs(product);
  const double v = product + b.v;
  const double e = dproduct * (1 + 2 * kU) + b.e + 0x1p-50 * (std::fabs(product) + std::fabs(v)) + smallest;
  if (std::isinf(w.v) && !(normal.e < std::fabs(normal.v))) return {v, kInfinity};
  if (std::isfinite(w.v) && !(std::fabs(product) + dproduct < max_finite(Dtype::f32))) return {v, kInfinity};
  if (is_exact(normal, w, b, product, v)) return {v, 0};
  if (!std::isfinite(v)) return {v, w.e > 0 || b.e > 0 ? kInfinity : 0};
  return {v, std::isnan(e) ? kInfinity : e};
}

// The elements [start, start + row.n) of y. The mean is subtracted first if the row is centred.
struct NormRow {
  RowView row;
  size_t start;
  double mean, mean_error;
  InverseRoot root;
  bool centred;
  bool regular;  // all statistics are finite
  bool known;    // no sum may have overflowed
};

// The further error of x scale + shift with scale = r w and shift = b - mean r w: two roundings of x scale,
// three of shift's product, one of shift. Unknown where a product may overflow.
double scale_and_shift_error(const NormRow& norm, size_t j, Element w, Element b) {
  const double scale = norm.root.r.v * (1 + norm.root.r.e) * (std::fabs(w.v) + w.e);
  const double products = (std::fabs(norm.row.x[j]) + std::fabs(norm.mean) + norm.mean_error) * scale;
  return products < max_finite(Dtype::f32) ? kU * (3 * products + std::fabs(b.v) + b.e) * 1.001 : kInfinity;
}

// The further error of a result c r w + b where r may be smaller. A result of the dtype is left alone if that
// is less than half of its distance to the next one; a tie of two results is not.
double error_of_lost(const InverseRoot& root, double c, Element w, Element result, Dtype dtype) {
  const double error = root.lost * std::fabs(c) * root.r.v * (std::fabs(w.v) + w.e);
  const bool stays =
      result.e == 0 && round_to(dtype, result.v) == result.v && error < 0x1.ffp-26 * std::fabs(result.v);
  return stays || std::isnan(error) ? 0 : error;
}

void write_row(const NormRow& norm, const Affine& affine, const Arithmetic& arithmetic, Bounded& y) {
  for (size_t j = 0; j < norm.row.n; ++j) {
    const double x = norm.row.x[j], dx = norm.row.dx ? norm.row.dx[j] : 0, c = x - norm.mean;
    const bool exact = !norm.centred || (dx == 0 && norm.mean_error == 0 && is_plain_f32(c));
    const double dc = exact ? dx : (dx + norm.mean_error) * (1 + kU) + kU * std::fabs(c);
    const size_t i = norm.start + j;
    const Element w = affine.at(affine.weight, i, 1), b = affine.at(affine.bias, i, 0);
    Element result = affine_transform(scaled(c, dc, norm.root.r), w, b, arithmetic.smallest);
    result.e += error_of_lost(norm.root, c, w, result, y.type.dtype);
    if (norm.centred && arithmetic.norms_scale_and_shift) result.e += scale_and_shift_error(norm, j, w, b);
    if (!norm.regular)
      result.e = norm.row.dx ? kInfinity : 0;
    else if (!norm.known)
      result.e = kInfinity;
    y.v[i] = result.v;
    y.e[i] = result.e;
  }
}

RowView row_of(const Bounded& x, size_t start, size_t n) {
  return {x.v.data() + start, x.exact() ? nullptr : x.e.data() + start, n};
}

Bounded centred_norm(BoundedSpan in, const TensorType& out, size_t n, Affine affine, double eps,
                     const Arithmetic& arithmetic) {
  const Bounded& x = *in[0];
  affine.weight = in.size() > 1 ? in[1] : nullptr;
  affine.bias = in.size() > 2 ? in[2] : nullptr;
  Bounded y(out);
  y.e.resize(y.v.size());
  for (size_t start = 0; start < x.v.size(); start += n) {
    const RowView row = row_of(x, start, n);
    const Statistics s = statistics(row, arithmetic);
    const InverseRoot root = inverse_root(s.variance + eps, s.variance_error, arithmetic);
    const bool known = s.variance * static_cast<double>(n) < 1e38 && std::isfinite(s.mean_error);
    const bool regular = std::isfinite(s.mean) && std::isfinite(s.variance);
    write_row({row, start, s.mean, s.mean_error, root, true, regular, known}, affine, arithmetic, y);
  }
  return y;
}

// Whether adding the squares is exact in every order, and their mean is exact, too.
bool exact_squares(const RowView& row, double squares) {
  int g = kAnyGranularity;
  for (size_t j = 0; j < row.n; ++j) g = std::min(g, 2 * granularity(row.x[j]));
  return sums_are_exact(g, squares, -126) && is_power_of_two(row.n) &&
         is_plain_f32(squares / static_cast<double>(row.n));
}

double f32(double x) { return static_cast<double>(static_cast<float>(x)); }

}  // namespace

Bounded reference(const LayerNorm& op, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  const auto n = static_cast<size_t>(out.shape.back());
  return centred_norm(in, out, n, {nullptr, nullptr, 1, n}, f32(op.eps), arithmetic);
}

Bounded reference(const GroupNorm& op, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  const auto channels = static_cast<size_t>(out.shape[1]);
  const auto plane = static_cast<size_t>(element_count(Shape(out.shape.begin() + 2, out.shape.end())));
  const size_t n = channels / static_cast<size_t>(op.groups) * plane;
  return centred_norm(in, out, n, {nullptr, nullptr, plane, channels}, f32(op.eps), arithmetic);
}

Bounded reference(const RmsNorm& op, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  const Bounded& x = *in[0];
  const auto n = static_cast<size_t>(out.shape.back());
  const Affine affine{in.size() > 1 ? in[1] : nullptr, nullptr, 1, n};
  Bounded y(out);
  y.e.resize(y.v.size());
  for (size_t start = 0; start < x.v.size(); start += n) {
    const RowView row = row_of(x, start, n);
    double squares = 0, inputs = 0;
    for (size_t j = 0; j < n; ++j) {
      const double dx = row.dx ? row.dx[j] : 0;
      squares += row.x[j] * row.x[j];
      inputs += 2 * std::fabs(row.x[j]) * dx + dx * dx;
    }
    const auto count = static_cast<double>(n);
    const double q = squares / count, total = q + f32(op.eps);
    const bool exact = !row.dx && exact_squares(row, squares);
    const double rounding =
        exact ? 0
              : (arithmetic.row_roundings(count) + 2 + arithmetic.div) * kU * (q + inputs / count) +
                    arithmetic.smallest;
    const InverseRoot root = inverse_root(total, inputs / count + rounding, arithmetic);
    write_row({row, start, 0, 0, root, false, std::isfinite(q), squares + inputs < 1e38}, affine, arithmetic,
              y);
  }
  return y;
}

}  // namespace fusesmith::oracle::ref
