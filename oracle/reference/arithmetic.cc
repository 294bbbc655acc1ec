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

Bounded reference(const Mul&, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  return binary(in, out, mul);
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
    const Element r = op.inverse ? div(a, factor, arithmetic.div) : mul(a, factor);
    y.set(i, r.v, r.e);
  }
  return y;
}

Bounded reference(const Cast&, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  Bounded y(*in[0]);
  y.type = out;
  return y;
}

}  // namespace fusesmith::oracle::ref
