// What the kernels of `cpu` and `cpu_fused` may be off by.
#pragma once

#include "oracle/contract.h"

namespace fusesmith::backends {

// Rows are added up by sum_of (reduce.h) and by Welford's statistics (cpu_fused/welford.h): eight lanes,
// merged pairwise. Nothing flushes subnormals.
inline Arithmetic cpu_arithmetic() {
  Arithmetic arithmetic;
  arithmetic.row_sums = {8, 3};
  arithmetic.smallest_term = 0x1p-149;
  return arithmetic;
}

}  // namespace fusesmith::backends
