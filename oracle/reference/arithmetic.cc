// add, sub, mul, div, scale, cast: one correctly rounded f32 operation. e is only what the inputs bring and
// what f64 itself loses (found by exact transformations: Knuth's two-sum, a fused multiply-add's remainder),
// so that an exact result stays exact.
#include <cmath>

#include "oracle/reference/ops.h"

namespace fusesmith::oracle::ref {
namespace {

// e itself was rounded a few times in f64.
double known(double e) { return std::isnan(e) ? kInfinity : e * (1 + 0x1p-50); }

double two_sum_error(double a, double b, double sum) {
  const double b_part = sum - a;
  return std::fabs((a - (sum - b_part)) + (b - b_part));
}

Element add(Element a, Element b) {
  const double v = a.v + b.v;
  if (!std::isfinite(v)) return {v, a.e + b.e};
  return {v, known(a.e + b.e + two_sum_error(a.v, b.v, v))};
}

Element mul(Element a, Element b) {
  const double v = a.v * b.v;
  if (!std::isfinite(v)) return {v, std::fmax(a.e, b.e) > 0 ? kInfinity : 0};
  const double inputs = std::fabs(a.v) * b.e + std::fabs(b.v) * a.e + a.e * b.e;
  return {v, known(inputs + std::fabs(std::fma(a.v, b.v, -v)))};
}

// A product with a reciprocal is exact only where the reciprocal is.
bool has_exact_reciprocal(double x) {
  int exponent = 0;
  return std::fabs(std::frexp(x, &exponent)) == 0.5;
}

// |a'/b' - a/b| <= (ea + |a/b| eb) / (|b| - eb); a denominator that may be 0 makes anything possible.
Element div(Element a, Element b, double div_error) {
  const double v = a.v / b.v;
  if (a.e == 0 && b.e == 0) {
    const bool rounded_once = div_error <= 1 || v == 0 || has_exact_reciprocal(b.v);
    const bool exact = !std::isfinite(v) || (rounded_once && std::fma(v, b.v, -a.v) == 0);
    return {v, exact ? 0 : std::fabs(v) * (0x1p-53 + (div_error - 1) * kU) + 0x1p-1074};
  }
  if (!(b.e < std::fabs(b.v)) || !std::isfinite(v)) return {v, kInfinity};
  const double inputs = (a.e + std::fabs(v) * b.e) / (std::fabs(b.v) - b.e);
  return {v, known(inputs + std::fabs(v) * (0x1p-52 + (div_error - 1) * kU))};
}

// A product that is exact in the order of the graph may round in another one.
Element rounded_in_any_order(Element product, const Arithmetic& arithmetic) {
  if (arithmetic.products_in_any_order && std::isfinite(product.v)) product.e += kU * std::fabs(product.v);
  return product;
}

template <class F>
Bounded binary(BoundedSpan in, const TensorType& out, F f) {
  const Bounded &a = *in[0], &b = *in[1];
  Bounded y(out);
  for_each_broadcast<2>(out.shape, {&a.type.shape, &b.type.shape}, [&](size_t i, const auto& at) {
    const Element r = f(Element{a.v[at[0]], a.error(at[0])}, Element{b.v[at[1]], b.error(at[1])});
    y.set(i, r.v, r.e);
  });
  return y;
}

}  // namespace

Bounded reference(const Add&, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  return binary(in, out, add);
}

Bounded reference(const Sub&, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  return binary(in, out, [](Element a, Element b) { return add(a, {-b.v, b.e}); });
}

Bounded reference(const Mul&, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  return binary(in, out, [&](Element a, Element b) { return rounded_in_any_order(mul(a, b), arithmetic); });
}

Bounded reference(const Div&, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  return binary(in, out, [&](Element a, Element b) { return div(a, b, arithmetic.div); });
}

Bounded reference(const Scale& op, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  const Element factor{static_cast<double>(static_cast<float>(op.factor)), 0};
  const Bounded& x = *in[0];
  Bounded y(out);
  for (size_t i = 0; i < y.v.size(); ++i) {
    const Element a{x.v[i], x.error(i)};
    const Element r =
        op.inverse ? div(a, factor, arithmetic.div) : rounded_in_any_order(mul(a, factor), arithmetic);
    y.set(i, r.v, r.e);
  }
  return y;
}

namespace {

// A quantized element, after the steps of its rounding that the storage of [v - e, v + e], rounded to
// nearest, does not have: numbers beyond the range, and rounding up or down. e is infinite where both a
// number and a special value are right, and where the op says that anything is.
Element quantized(const RoundTo& to, Element x) {
  if (std::isnan(x.v)) return info(to.dtype).has_nan ? x : Element{0, kInfinity};
  if (std::isinf(x.e)) return {0, kInfinity};
  if (to.dtype == Dtype::f8e8m0 && !(x.v - x.e > 0)) return {0, kInfinity};
  const RoundTo ends{to.dtype, Overflow::saturate, to.rounding};
  const double lo = ends(x.v - x.e), hi = ends(x.v + x.e);
  const double special = to(x.v);
  if (!(to(x.v - x.e) == lo && to(x.v + x.e) == hi)) {  // an end is beyond the range, and special
    const bool all_special = !std::isfinite(to(x.v - x.e)) && !std::isfinite(to(x.v + x.e)) && lo == hi;
    return all_special ? Element{special, 0} : Element{0, kInfinity};
  }
  if (to.rounding == Rounding::nearest && x.v >= info(to.dtype).lowest && x.v <= max_finite(to.dtype))
    return x;
  const double v = ends(x.v);
  return {v, std::fmax(hi - v, v - lo)};
}

}  // namespace

Bounded reference(const Cast& op, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  Bounded y(*in[0]);
  y.type = out;
  if (!is_quantized(out.dtype)) return y;
  for (size_t i = 0; i < y.v.size(); ++i) {
    const Element q = quantized(op.rounds(), {y.v[i], y.error(i)});
    y.set(i, q.v, q.e);
  }
  y.either_infinity.clear();
  return y;
}

}  // namespace fusesmith::oracle::ref
