// sigmoid, silu, gelu, tanh, softcap, erf, exp: smooth functions of one element. The error of the input,
// f(x') - f(x), is at most |f'(x)| dx + max|f''| dx^2 / 2 (Taylor). The error of the computation follows from
// the formula of each function.
//
// Exact at 0 and from 128 on. There exp(-|x|), below 2^-184, is 0 in f32 even times x, and exp(|x|) infinite:
// 1 / (1 + exp(-x)) is 1 / 1 or 1 / inf, as exp(x) / (1 + exp(x)) is; tanh and erf are +-1 (Arithmetic says
// on what grounds), so that 1 + erf is 2 or 0. The exact results round to the same values.
#include <cmath>
#include <numbers>

#include "oracle/reference/ops.h"

namespace fusesmith::oracle::ref {
namespace {

// v = f(x), its slope, the largest |f''| within dx of x, and the error of computing f from an exact x.
struct Smooth {
  double v, slope, curvature, computing;
};

// f(x, dx) for every element.
template <class F>
Bounded smooth(BoundedSpan in, const TensorType& out, F f) {
  const Bounded& x = *in[0];
  Bounded y(out);
  y.e.resize(y.v.size());
  for (size_t i = 0; i < y.v.size(); ++i) {
    const double dx = x.error(i);
    if (std::isnan(x.v[i]) || dx == kInfinity) {
      y.v[i] = x.v[i];
      y.e[i] = dx;
      continue;
    }
    const Smooth r = f(x.v[i], dx);
    const double inputs = dx == 0 ? 0 : std::fabs(r.slope) * dx + 0.5 * r.curvature * dx * dx;
    y.v[i] = r.v;
    // The function is computed at x', not x: the bound there differs by as much as x and y differ.
    y.e[i] = inputs + r.computing * (1 + 4 * dx) + 8 * kU * inputs;
  }
  return y;
}

// A factor that underflows and is then multiplied by x; beyond 127 all factors are exactly 0 or 1.
double underflow(double x, const Arithmetic& arithmetic) {
  return (std::fmin(std::fabs(x), 127) + 1) * arithmetic.smallest;
}

bool is_saturated(double x, double dx) { return std::fabs(x) - dx >= 128; }

// 0 on the left, x itself on the right.
Smooth ramp(double x) { return x > 0 ? Smooth{x, 1, 0, 0} : Smooth{-0.0, 0, 0, 0}; }

double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

// The largest |tanh''| within d of t.
double tanh_curvature(double t, double d, double sech2) {
  return std::fmin(0.77, 2 * std::fmin(1, std::fabs(t) + d) * sech2 * std::exp(2 * d));
}

// x Phi(x), with Phi the normal distribution or its tanh form: what both forms share. `inner` is the error of
// erf or tanh, in u.
Smooth gelu(double x, double dx, double phi, double slope, double curvature, double inner,
            const Arithmetic& arithmetic) {
  const double y = x * phi;
  // Below -13.5 y is under the smallest normal number, and the inner function, long exactly -1, makes it 0.
  const bool vanishes = x + dx < -13.5;
  const double computing = vanishes ? 0 : kU * (0.5 * std::fabs(x) * inner + 3 * std::fabs(y));
  return {y, slope, std::fmin(0.85, curvature), computing + underflow(x, arithmetic)};
}

Smooth gelu_erf(double x, double dx, const Arithmetic& arithmetic) {
  using std::numbers::inv_sqrtpi, std::numbers::sqrt2;
  const double z = x / sqrt2, phi = 0.5 * std::erfc(-z),
               density = inv_sqrtpi / sqrt2 * std::exp(-0.5 * x * x);
  const double far = std::fabs(x) + dx;
  const double curvature = density * std::exp(std::fabs(x) * dx) * (2 + far * far);
  // The constant is rounded, and multiplied or divided by.
  const double argument = (1 + arithmetic.div) * std::fabs(z) * 2 * inv_sqrtpi * std::exp(-z * z);
  const double inner = arithmetic.erf_absolute + arithmetic.erf * std::fabs(std::erf(z)) + argument;
  return gelu(x, dx, phi, phi + x * density, curvature, inner, arithmetic);
}

Smooth gelu_tanh(double x, double dx, const Arithmetic& arithmetic) {
  constexpr double c = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, cubic = 0.044715;
  const double t = c * (x + cubic * x * x * x), phi = sigmoid(2 * t), sech2 = 4 * phi * sigmoid(-2 * t);
  if (sech2 == 0) return gelu(x, dx, phi, phi, 0.85, arithmetic.tanh, arithmetic);
  const double far = std::fabs(x) + dx, t1 = c * (1 + 3 * cubic * far * far), t2 = c * 6 * cubic * far;
  const double curvature = sech2 * std::exp(2 * t1 * dx) * (t1 + 0.5 * far * t2 + far * t1 * t1);
  const double slope = phi + 0.5 * x * sech2 * c * (1 + 3 * cubic * x * x);
  const double inner =
      arithmetic.tanh_absolute + arithmetic.tanh * std::fabs(std::tanh(t)) + 7 * std::fabs(t) * sech2;
  return gelu(x, dx, phi, slope, curvature, inner, arithmetic);
}

}  // namespace

// y = 1 / (1 + exp(-x)): the exponential's error counts by its share (1 - y) of the sum; then an addition and
// a division. Rational approximations add an absolute error.
Bounded reference(const Sigmoid&, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  const double absolute = arithmetic.sigmoid_absolute * kU;
  return smooth(in, out, [&](double x, double dx) {
    if (is_saturated(x, dx)) return Smooth{x > 0 ? 1.0 : 0.0, 0, 0, absolute};
    if (x == 0 && dx == 0) return Smooth{0.5, 0, 0, 0};
    const double y = sigmoid(x);
    const double rest = sigmoid(-x);
    const double computing = y * (rest * arithmetic.exp_at(x) + (1 + arithmetic.div) + 1) * kU;
    const double curvature = std::fmin(0.1, y * rest * std::exp(dx));  // |(log y (1 - y))'| <= 1
    return Smooth{y, y * rest, curvature, computing + absolute + arithmetic.smallest};
  });
}

// y = x sigmoid(x), as a product or as x / (1 + exp(-x)); |y''| <= 1/2. -inf is NaN by the product and by the
// quotient's -inf/inf.
Bounded reference(const Silu&, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  return smooth(in, out, [&](double x, double dx) {
    if (std::isinf(x)) return Smooth{x > 0 ? x : kNaN, 0, 0, 0};
    if (x == 0 && dx == 0) return Smooth{x, 0, 0, 0};
    const double absolute = std::fabs(x) * arithmetic.sigmoid_absolute * kU;
    if (is_saturated(x, dx)) {
      Smooth saturated = ramp(x);
      saturated.computing = absolute;
      return saturated;
    }
    const double s = sigmoid(x), rest = sigmoid(-x);
    const double computing =
        absolute + std::fabs(x * s) * (rest * arithmetic.exp_at(x) + (1 + arithmetic.div) + 2) * kU;
    const double curvature = std::fmin(0.5, s * rest * std::exp(dx) * (2 + std::fabs(x) + dx));
    return Smooth{x * s, s * (1 + x * rest), curvature, computing + underflow(x, arithmetic)};
  });
}

// erf form: y = 0.5 x (1 + erf(z)), z = x / sqrt(2). The argument is off by 2 u |z| (constant and product),
// which erf damps by its slope; the sum rounds once relative to itself; two products follow. tanh form: t =
// sqrt(2/pi) (x + 0.044715 x^3) takes 7 roundings. |y''| <= 0.85 for both forms.
Bounded reference(const Gelu& op, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  return smooth(in, out, [&](double x, double dx) {
    if (std::isinf(x)) return Smooth{x > 0 ? x : kNaN, 0, 0, 0};
    if (x == 0 && dx == 0) return Smooth{x, 0, 0, 0};
    if (is_saturated(x, dx)) return ramp(x);
    return op.form == Gelu::Form::erf ? gelu_erf(x, dx, arithmetic) : gelu_tanh(x, dx, arithmetic);
  });
}

// cap tanh(t), with t = x / cap taken as a quotient or as a product with the reciprocal: (1 + eps_div) u |t|,
// which tanh damps by its slope. |tanh''| = 2 |tanh| sech^2 <= 0.77, and sech^2 grows at most by e^2d within
// d.
Bounded reference(const Softcap& op, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  const auto cap = static_cast<double>(static_cast<float>(op.cap));
  return smooth(in, out, [&](double x, double dx) {
    if (is_saturated(x / cap, dx / cap)) return Smooth{std::copysign(cap, x), 0, 0, 0};
    if (x == 0 && dx == 0) return Smooth{x, 0, 0, 0};
    const double t = x / cap, sech2 = 4 * sigmoid(2 * t) * sigmoid(-2 * t), y = cap * std::tanh(t);
    const double inner = arithmetic.tanh_absolute * cap + arithmetic.tanh * std::fabs(y) +
                         (1 + arithmetic.div) * std::fabs(x) * sech2;
    return Smooth{y, sech2, tanh_curvature(t, dx / cap, sech2) / cap,
                  kU * inner + (1 + cap) * arithmetic.smallest};
  });
}

Bounded reference(const Tanh&, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  return smooth(in, out, [&](double x, double dx) {
    const double y = std::tanh(x), sech2 = 4 * sigmoid(2 * x) * sigmoid(-2 * x);
    if (is_saturated(x, dx) || (x == 0 && dx == 0)) return Smooth{y, 0, 0, 0};
    return Smooth{y, sech2, tanh_curvature(x, dx, sech2),
                  kU * (arithmetic.tanh_absolute + arithmetic.tanh * std::fabs(y)) + arithmetic.smallest};
  });
}

// |erf''| = 4 / sqrt(pi) |x| exp(-x^2) <= 0.97, and exp(-x^2) grows at most by e^(2 |x| d) within d.
Bounded reference(const Erf&, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  return smooth(in, out, [&](double x, double dx) {
    const double y = std::erf(x);
    if (is_saturated(x, dx) || (x == 0 && dx == 0)) return Smooth{y, 0, 0, 0};
    const double slope = 2 * std::numbers::inv_sqrtpi * std::exp(-x * x), far = std::fabs(x) + dx;
    const double curvature = std::fmin(0.97, 2 * far * slope * std::exp(2 * std::fabs(x) * dx));
    return Smooth{y, slope, curvature,
                  kU * (arithmetic.erf_absolute + arithmetic.erf * std::fabs(y)) + arithmetic.smallest};
  });
}

// Exact at 0 and where the result is 0 in f32 (e^-105 is, far below half of the smallest) or beyond f64.
Bounded reference(const Exp&, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic) {
  return smooth(in, out, [&](double x, double dx) {
    const double y = std::exp(x);
    if (std::isinf(x) || (std::isinf(y) && x - dx > 89)) return Smooth{y, 0, 0, 0};
    const bool exact = x + dx <= -105 || (x == 0 && dx == 0);
    return Smooth{y, y, std::exp(x + dx), exact ? 0 : kU * arithmetic.exp_at(x) * y + arithmetic.smallest};
  });
}

}  // namespace fusesmith::oracle::ref
