// sqrt, rsqrt and log, functions of positive numbers.
//
// sqrt: correctly rounded unless eps_sqrt > 1, so e is what the input brings, what f64 loses and
// (eps_sqrt - 1) u v. rsqrt: eps_rsqrt u relative, and
// exact at powers of four (Arithmetic says on what grounds). log: eps_log u relative, so that it is exact at
// 1; an inexact input adds at most dx / (x - dx).
// All are NaN below 0, and unknown where an inexact input may lie on either side.
#include <cmath>

#include "oracle/reference/sums.h"

namespace fusesmith::oracle::ref {
namespace {

// Calls f(x, dx, v, e) for every element whose interval lies within the domain.
template <class F>
Bounded root(BoundedSpan in, const TensorType& out, F f) {
  const Bounded& x = *in[0];
  Bounded y(out);
  for (size_t i = 0; i < y.v.size(); ++i) {
    const double v = x.v[i], dx = x.error(i);
    if (std::isnan(v) || dx == kInfinity) {
      y.set(i, v, dx);
    } else if (v + dx < 0) {
      y.set(i, kNaN, 0);
    } else if (dx > 0 && v - dx <= 0) {
      y.set(i, v, kInfinity);
    } else {
      double root_v = 0, root_e = 0;
      f(v, dx, root_v, root_e);
      y.set(i, root_v, root_e);
    }
  }
  return y;
}

}  // namespace

Bounded reference(const Sqrt&, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  return root(in, out, [&](double x, double dx, double& v, double& e) {
    v = std::sqrt(x);
    const double computing = std::isinf(v) ? 0 : std::fmax(arithmetic.sqrt - 1, 0) * kU * v;
    e = computing + (std::isinf(v) || std::fma(v, v, -x) == 0 ? 0 : 0x1p-53 * v);
    if (dx > 0) e = (e + dx / (v + std::sqrt(x - dx))) * (1 + 0x1p-50);
  });
}

Bounded reference(const Rsqrt&, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  return root(in, out, [&](double x, double dx, double& v, double& e) {
    v = 1 / std::sqrt(x);
    if (std::isinf(v) || std::isinf(x) || (dx == 0 && is_power_of_four(x))) return;
    const double top = 1 / std::sqrt(x - dx);
    e = (top - v) + (arithmetic.rsqrt * kU + 0x1p-50) * top;
  });
}

Bounded reference(const Log&, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  return root(in, out, [&](double x, double dx, double& v, double& e) {
    v = std::log(x);
    if (std::isinf(v)) return;
    const double inputs = dx > 0 ? dx / (x - dx) : 0;
    e = (inputs + (arithmetic.log * kU + 0x1p-50) * std::fabs(v)) * (1 + 8 * kU);
  });
}

}  // namespace fusesmith::oracle::ref
