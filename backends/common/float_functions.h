// The scalar functions of pointwise ops in f32, for CPU and CUDA kernels (C++17): one expression each, with
// every operation rounded once (the build forbids contraction). float_functions_test.cc asserts the worst
// errors on the CPU, `fusesmith calibrate` measures them on a GPU.
#pragma once

#include <cmath>

#ifdef __CUDACC__
#define FUSESMITH_ANYWHERE __host__ __device__
#else
#define FUSESMITH_ANYWHERE
#endif

namespace fusesmith::backends {

// NaN is not <= 0 and passes through.
FUSESMITH_ANYWHERE inline float relu(float x) { return x <= 0 ? 0.0f : x; }
// NaN is not <= 0, so that dy passes through.
FUSESMITH_ANYWHERE inline float relu_backward(float dy, float x) { return x <= 0 ? 0.0f : dy; }
// NaN passes through, and +0 is larger than -0.
FUSESMITH_ANYWHERE inline float maximum(float a, float b) {
  using std::signbit;
  if (a == b) return signbit(a) ? b : a;
  return a > b || a != a ? a : b;
}
FUSESMITH_ANYWHERE inline float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
FUSESMITH_ANYWHERE inline float silu(float x) { return x / (1.0f + expf(-x)); }
FUSESMITH_ANYWHERE inline float gelu_erf(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }
FUSESMITH_ANYWHERE inline float gelu_tanh(float x) {
  constexpr float kSqrt2OverPi = 0.79788456f;
  return 0.5f * x * (1.0f + tanhf(kSqrt2OverPi * (x + 0.044715f * x * x * x)));
}
FUSESMITH_ANYWHERE inline float softcap(float x, float cap) { return cap * tanhf(x / cap); }
FUSESMITH_ANYWHERE inline float reciprocal_sqrt(float x) { return 1.0f / sqrtf(x); }
// Of the op rsqrt: CUDA has an instruction for it.
FUSESMITH_ANYWHERE inline float rsqrt_function(float x) {
#ifdef __CUDA_ARCH__
  return rsqrtf(x);
#else
  return reciprocal_sqrt(x);
#endif
}

}  // namespace fusesmith::backends
