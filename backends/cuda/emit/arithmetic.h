// Error bounds of CUDA's scalar functions, compiled by nvcc without fast-math, for the contracts of `cuda`
// and `cuda_fused`. Measured on an H200 over every finite f32 and rounded up (docs/benchmarks.md); `fusesmith
// calibrate` measures them on another GPU.
#pragma once

#include "oracle/contract.h"

namespace fusesmith::backends {

inline Arithmetic cuda_arithmetic() {
  Arithmetic arithmetic;
  arithmetic.exp = 2.56;
  arithmetic.erf = 1.43;
  arithmetic.tanh = 3.34;
  arithmetic.log = 1.35;
  arithmetic.rsqrt = 2.1;
  arithmetic.div = 1;
  // row_reduce.cuh: 32 lanes, or 1024 for more than 1024 columns. welford.cuh: 4 chains in each lane of 1, 4
  // or 8 warps; a chain takes up to two elements of each 16-byte piece.
  arithmetic.row_sums = {32, 16, 1024, 512};
  return arithmetic;
}

}  // namespace fusesmith::backends
