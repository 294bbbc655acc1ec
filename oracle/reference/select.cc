// Select ops: each element is one of the inputs' or a constant; nothing rounds.
#include <cmath>

#include "oracle/reference/ops.h"

namespace fusesmith::oracle::ref {

// max(x, 0) never increases a difference, so e passes through. NaN stays NaN.
Bounded reference(const Relu&, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  const Bounded& x = *in[0];
  Bounded y(out);
  if (!x.exact()) y.e.resize(y.v.size());
  for (size_t i = 0; i < y.v.size(); ++i) {
    y.v[i] = x.v[i] <= 0 ? 0 : x.v[i];
    if (!x.exact()) y.e[i] = x.v[i] + x.e[i] <= 0 ? 0 : x.e[i];
  }
  return y;
}

// dy, 0, or either where x may lie on both sides of 0.
Bounded reference(const ReluBackward&, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  const Bounded &dy = *in[0], &x = *in[1];
  Bounded y(out);
  for_each_broadcast<2>(out.shape, {&dy.type.shape, &x.type.shape}, [&](size_t i, const auto& at) {
    const double passed = dy.v[at[0]], error = dy.error(at[0]), v = x.v[at[1]], dx = x.error(at[1]);
    const bool stops = v <= 0, is_certain = dx == 0 || v + dx <= 0 || v - dx > 0;
    if (is_certain) return stops ? y.set(i, 0, 0) : y.set(i, passed, error);
    if (std::isnan(passed)) return y.set(i, passed, kInfinity);
    if (stops) return y.set(i, 0, std::fabs(passed) + error);
    y.set(i, passed, std::fmax(error, std::fabs(passed)));
  });
  return y;
}

// The maximum of two intervals; of two zeros the positive one.
Bounded reference(const Maximum&, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  const Bounded &a = *in[0], &b = *in[1];
  Bounded y(out);
  for_each_broadcast<2>(out.shape, {&a.type.shape, &b.type.shape}, [&](size_t i, const auto& at) {
    const double x = a.v[at[0]], dx = a.error(at[0]), z = b.v[at[1]], dz = b.error(at[1]);
    if (std::isnan(x) || std::isnan(z)) {
      const bool certain = (std::isnan(x) && dx == 0) || (std::isnan(z) && dz == 0);
      return y.set(i, std::isnan(x) ? x : z, certain ? 0 : std::fmax(dx, dz));
    }
    const double v = x == z ? (std::signbit(x) ? z : x) : std::fmax(x, z);
    const double lo = std::fmax(x - dx, z - dz), hi = std::fmax(x + dx, z + dz);
    const bool unknown = std::isinf(dx) || std::isinf(dz);
    y.set(i, v, unknown ? std::fmax(dx, dz) : std::isinf(v) ? 0 : std::fmax(hi - v, v - lo));
  });
  return y;
}

Bounded reference(const Where&, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  const Bounded &condition = *in[0], &a = *in[1], &b = *in[2];
  Bounded y(out);
  for_each_broadcast<3>(out.shape, {&condition.type.shape, &a.type.shape, &b.type.shape},
                        [&](size_t i, const auto& at) {
                          const bool first = condition.v[at[0]] != 0;
                          y.set(i, first ? a.v[at[1]] : b.v[at[2]], first ? a.error(at[1]) : b.error(at[2]));
                        });
  return y;
}

Bounded reference(const MaskedFill& op, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  const Bounded &x = *in[0], &mask = *in[1];
  const double value = round_to(out.dtype, op.value);
  Bounded y(out);
  for_each_broadcast<1>(out.shape, {&mask.type.shape}, [&](size_t i, const auto& at) {
    const bool fill = (mask.v[at[0]] != 0) != op.inverted;
    y.set(i, fill ? value : x.v[i], fill ? 0 : x.error(i));
  });
  return y;
}

}  // namespace fusesmith::oracle::ref
