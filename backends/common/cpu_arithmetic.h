// What the kernels of `cpu` and `cpu_fused` may be off by.
#pragma once

#include "oracle/contract.h"

namespace fusesmith {

// Rows are added up by sum_of (reduce.h) and, on `cpu_fused`, by Welford's statistics (welford.h): eight
// lanes, merged pairwise. Nothing flushes subnormals, and glibc's functions are off by at most 2 ulp where
// they underflow.
inline Arithmetic cpu_arithmetic() {
  Arithmetic arithmetic;
  arithmetic.row_sums = {8, 3};
  arithmetic.smallest = 0x1p-148;
  return arithmetic;
}

}  // namespace fusesmith
