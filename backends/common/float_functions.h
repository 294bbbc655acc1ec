// The scalar functions of pointwise ops in f32 for all CPU kernels: one expression each, with every
// operation rounded once (the build forbids contraction). float_functions_test.cc asserts their worst
// errors.
#pragma once

#include <cmath>

namespace fusesmith::backends {

inline float relu(float x) { return x <= 0 ? 0.0f : x; }  // NaN is not <= 0 and passes through
inline float maximum(float a, float b) {
  if (a == b) return std::signbit(a) ? b : a;
  return a > b || std::isnan(a) ? a : b;
}
inline float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }
inline float silu(float x) { return x / (1.0f + std::exp(-x)); }
inline float gelu_erf(float x) { return 0.5f * x * (1.0f + std::erf(x * 0.70710678f)); }
inline float gelu_tanh(float x) {
  constexpr float kSqrt2OverPi = 0.79788456f;
  return 0.5f * x * (1.0f + std::tanh(kSqrt2OverPi * (x + 0.044715f * x * x * x)));
}
inline float softcap(float x, float cap) { return cap * std::tanh(x / cap); }
inline float reciprocal_sqrt(float x) { return 1.0f / std::sqrt(x); }

}  // namespace fusesmith::backends
