#include <cmath>

#include "backends/cuda/calibrate/scalar_errors.h"

namespace fusesmith::backends {
namespace {

constexpr int kThreads = 256;
constexpr double kSmallest = 0x1p-126, kLargest = 0x1.fffffep127;

// f32: as kernels call it. f64: CUDA's double functions are off by at most 2 ulp, 2^-27 of our unit.
struct Exp {
  static __device__ float f32(float x) { return expf(x); }
  static __device__ double f64(double x) { return exp(x); }
};
struct Erf {
  static __device__ float f32(float x) { return erff(x); }
  static __device__ double f64(double x) { return erf(x); }
};
struct Tanh {
  static __device__ float f32(float x) { return tanhf(x); }
  static __device__ double f64(double x) { return tanh(x); }
};
struct Rsqrt {
  static __device__ float f32(float x) { return rsqrtf(x); }
  static __device__ double f64(double x) { return 1 / sqrt(x); }
};
struct Sqrt {
  static __device__ float f32(float x) { return sqrtf(x); }
  static __device__ double f64(double x) { return sqrt(x); }
};
struct Log {
  static __device__ float f32(float x) { return logf(x); }
  static __device__ double f64(double x) { return log(x); }
};
struct Reciprocal {
  static __device__ float f32(float x) { return 1.0f / x; }
  static __device__ double f64(double x) { return 1 / x; }
};

// Of two patterns with the same error the smaller: the result does not depend on the order.
__device__ void take_worse(WorstError& worst, const WorstError& other) {
  worst.tiny = fmax(worst.tiny, other.tiny);
  if (other.relative > worst.relative || (other.relative == worst.relative && other.at < worst.at)) {
    worst.relative = other.relative;
    worst.at = other.at;
  }
}

template <class F>
__device__ void measure(uint32_t bits, WorstError& worst) {
  const float x = __uint_as_float(bits);
  if (!isfinite(x)) return;
  const double exact = F::f64(x);
  if (isnan(exact) || fabs(exact) > kLargest) return;
  const float got = F::f32(x);
  // A NaN or infinity where the exact result is finite counts as an infinite error.
  const double error = isfinite(got) ? fabs(got - exact) : INFINITY;
  WorstError here = {0, 0, bits};
  if (fabs(exact) < kSmallest)
    here.tiny = error / kSmallest;
  else
    here.relative = error / fabs(exact) * 0x1p24;
  take_worse(worst, here);
}

template <class F>
__global__ void scalar_errors(WorstError* blocks) {
  __shared__ WorstError shared[kThreads];
  WorstError worst = {0, 0, 0xffffffffu};
  const uint64_t stride = static_cast<uint64_t>(gridDim.x) * kThreads;
  for (uint64_t bits = static_cast<uint64_t>(blockIdx.x) * kThreads + threadIdx.x; bits < (uint64_t{1} << 32);
       bits += stride)
    measure<F>(static_cast<uint32_t>(bits), worst);
  shared[threadIdx.x] = worst;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) take_worse(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) blocks[blockIdx.x] = shared[0];
}

template <class F>
cudaError_t launch(WorstError* blocks, cudaStream_t stream) {
  scalar_errors<F><<<kScalarErrorBlocks, kThreads, 0, stream>>>(blocks);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_scalar_errors(ScalarFunction function, WorstError* blocks, cudaStream_t stream) {
  switch (function) {
    case ScalarFunction::exp:
      return launch<Exp>(blocks, stream);
    case ScalarFunction::erf:
      return launch<Erf>(blocks, stream);
    case ScalarFunction::tanh:
      return launch<Tanh>(blocks, stream);
    case ScalarFunction::rsqrt:
      return launch<Rsqrt>(blocks, stream);
    case ScalarFunction::sqrt:
      return launch<Sqrt>(blocks, stream);
    case ScalarFunction::log:
      return launch<Log>(blocks, stream);
    case ScalarFunction::reciprocal:
      return launch<Reciprocal>(blocks, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace fusesmith::backends
