// rope: a c - b s and b c + a s. Both products round, or one of them where a multiply-add fuses the other:
// u (|a c| + |b s|), 0 where they are f32; the sum's rounding is the result's own. Where subnormal numbers
// are flushed, each product may be 0.
#include <cmath>

#include "oracle/reference/ops.h"

namespace fusesmith::oracle::ref {
namespace {

Element element(const Bounded& x, size_t i) { return {x.v[i], x.error(i)}; }

// a b as it enters the sum. The f64 error is found by a fused multiply-add.
Element rounded_product(Element a, Element b) {
  const double v = a.v * b.v;
  if (!std::isfinite(v)) return {v, a.e + b.e > 0 ? kInfinity : 0};
  const double e =
      std::fabs(a.v) * b.e + std::fabs(b.v) * a.e + a.e * b.e + std::fabs(std::fma(a.v, b.v, -v));
  if (e == 0 && static_cast<double>(static_cast<float>(v)) == v) return {v, 0};
  // A product beyond f32 is infinite, unless it is fused with the addition.
  if (!(std::fabs(v) + e < max_finite(Dtype::f32))) return {v, kInfinity};
  return {v, e + kU * (std::fabs(v) + e) + 0x1p-150};
}

Element product(Element a, Element b, bool may_be_flushed) {
  Element y = rounded_product(a, b);
  if (may_be_flushed && std::fabs(y.v) - y.e < 0x1p-126) y.e = std::fmax(y.e, std::fabs(y.v));
  return y;
}

Element sum(Element a, Element b) {
  const double v = a.v + b.v;
  if (std::isnan(a.v) || std::isnan(b.v)) {
    const bool certain = (std::isnan(a.v) && a.e == 0) || (std::isnan(b.v) && b.e == 0);
    return {v, certain ? 0 : kInfinity};
  }
  if (!std::isfinite(v)) return {v, a.e == kInfinity || b.e == kInfinity ? kInfinity : 0};
  const double b_part = v - a.v, lost = std::fabs((a.v - (v - b_part)) + (b.v - b_part));
  const double e = a.e + b.e + lost;
  return {v, e * (1 + 0x1p-50)};
}

Element negated(Element x) { return {-x.v, x.e}; }

}  // namespace

Bounded reference(const Rope& op, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  const Bounded &x = *in[0], &cos = *in[1], &sin = *in[2];
  const int64_t d = out.shape.back(), half = op.rotated(d) / 2;
  Shape pairs = out.shape;
  pairs.back() = half;
  Bounded y(out);
  for (size_t row = 0; row < y.v.size(); row += static_cast<size_t>(d)) {
    for (size_t i = row + static_cast<size_t>(2 * half); i < row + static_cast<size_t>(d); ++i)
      y.set(i, x.v[i], x.error(i));
  }
  for_each_broadcast<2>(pairs, {&cos.type.shape, &sin.type.shape}, [&](size_t i, const auto& at) {
    const auto row = static_cast<int64_t>(i) / half, pair = static_cast<int64_t>(i) % half;
    const RopePair where = rope_pair(op.pairing, pair, 2 * half);
    const auto first = static_cast<size_t>(row * d + where.first),
               second = static_cast<size_t>(row * d + where.second);
    const Element a = element(x, first), b = element(x, second), c = element(cos, at[0]),
                  s = element(sin, at[1]);
    const bool flushes = arithmetic.flushes_subnormals;
    const Element turned = sum(product(a, c, flushes), negated(product(b, s, flushes))),
                  other = sum(product(b, c, flushes), product(a, s, flushes));
    y.set(first, turned.v, turned.e);
    y.set(second, other.v, other.e);
  });
  return y;
}

}  // namespace fusesmith::oracle::ref
