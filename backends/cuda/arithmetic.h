// What CUDA's scalar functions may be off by, as nvcc compiles them without fast-math: the figures in the
// contracts of `cuda` and `cuda_fused`. Measured on an H200 over every finite f32 and rounded up
// (docs/benchmarks.md);
// `fusesmith calibrate` measures them again on another card.
#pragma once

#include "oracle/contract.h"

namespace fusesmith {

inline Arithmetic cuda_arithmetic() {
  Arithmetic arithmetic;
  arithmetic.exp = 2.56;
  arithmetic.erf = 1.43;
  arithmetic.tanh = 3.34;
  arithmetic.rsqrt = 2.1;
  arithmetic.div = 1;
  arithmetic.row_sums = {32, 16};  // row_reduce.cuh and welford.cuh: the lanes of one warp at least
  return arithmetic;
}

}  // namespace fusesmith
