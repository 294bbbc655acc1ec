// Measures a scalar f32 function of the device against the same function in f64, on every f32 bit pattern.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fusesmith::backends {

enum class ScalarFunction : int { exp, erf, tanh, rsqrt, sqrt, log, reciprocal };

// Left out: inputs that are NaN or infinite, or whose exact result is NaN or beyond f32.
struct WorstError {
  double relative;  // in units of 2^-24, where the exact result is a normal f32
  double tiny;      // absolute, in units of 2^-126, where |exact| is below that
  uint32_t at;      // bits of the smallest pattern with the worst relative error
};

inline constexpr int kScalarErrorBlocks = 2048;

// blocks[0, kScalarErrorBlocks) = the worst of each block's share of the bit patterns.
cudaError_t launch_scalar_errors(ScalarFunction function, WorstError* blocks, cudaStream_t stream);

}  // namespace fusesmith::backends
