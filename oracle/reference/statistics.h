// Mean and variance of a row, with bounds for the ways in which they are computed.
#pragma once

#include <cstddef>

#include "oracle/contract.h"

namespace fusesmith::ref {

struct Statistics {
  double mean, mean_error;  // of computing and of inexact inputs; infinity where a sum may overflow
  double variance, variance_error;
};

struct RowView {
  const double* x;
  const double* dx;  // null: exact
  size_t n;
};

// Bounds:
//   mean      sum of n in any order: (n + 2) u mean|x|; Welford's running mean: its n updates each round the
//             mean and the step, together (n + 3 ln n + 8) u mean|x|. 0 where the sum is exact and the mean
//             an f32.
//   variance  (of n, not n - 1) two-pass: (n + 5) u (var + dm^2) + dm^2; Welford: (2 (n + 8) k + n + 5) u var
//             + dm^2 with k = sqrt(1 + mean^2 / var) (Chan, Golub, LeVeque 1983); moments: (n + 3) u (var +
//             mean^2) + 2 |mean| dm + 2 dm^2. Two-pass is exact where the mean is, all sums of squares are
//             and n is a power of two.
Statistics statistics(const RowView& row, Arithmetic::Variance how);

}  // namespace fusesmith::ref
