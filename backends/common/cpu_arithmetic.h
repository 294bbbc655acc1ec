// The error bounds of the kernels of `cpu` and `cpu_fused`.
#pragma once

#include "oracle/contract.h"

namespace fusesmith::backends {

// sum_of (reduce.h) and Welford's statistics (cpu_fused/welford.h) sum rows in eight lanes that are merged
// pairwise. Subnormals are not flushed.
inline Arithmetic cpu_arithmetic() {
  Arithmetic arithmetic;
  arithmetic.row_sums = {8, 3};
  arithmetic.smallest_term = 0x1p-149;
  return arithmetic;
}

}  // namespace fusesmith::backends
