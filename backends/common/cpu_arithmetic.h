// The error bounds of the kernels of `cpu` and `cpu_fused`.
#pragma once

#include "graph/expand.h"
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

// Of one node. The blocks of a product depend on its number of rows (Eigen); all other kernels compute row by
// row.
inline Arithmetic cpu_arithmetic_of(const Op& op) {
  Arithmetic arithmetic = cpu_arithmetic();
  const OpClass kind = info(op).op_class;
  arithmetic.batch_invariant = kind != OpClass::product && (kind != OpClass::composite || is_defined(op));
  return arithmetic;
}

}  // namespace fusesmith::backends
