// Mean and variance of a row, with bounds for the ways in which they are computed.
#pragma once

#include <cstddef>

#include "oracle/contract.h"

namespace fusesmith::oracle::ref {

struct Statistics {
  double mean, mean_error;  // of computing and of inexact inputs; infinity where a sum may overflow
  double variance, variance_error;
};

struct RowView {
  const double* x;
  const double* dx;  // null: exact
  size_t n;
};

// Bounds of the mean:
// - as a sum with h additions (RowSums::height): (h + 3) u mean|x|; 0 if the sum is exact and the mean is an
//   f32 number;
// - Welford's running mean: its n updates each round the mean and the step, together
//   (n + 3 ln n + 8) u mean|x|.
//
// Bounds of the variance (of n, not n - 1), where dm is the bound of the mean:
// - two-pass: (h + 6) u (var + dm^2) + dm^2; 0 if the mean and all sums of squares are exact and n is a power
//   of two;
// - Welford: (2 (n + 8) k + n + 5) u var + dm^2 with k = sqrt(1 + mean^2 / var) (Chan, Golub, LeVeque 1983);
// - moments: (h + 4) u (var + mean^2) + 2 |mean| dm + 2 dm^2;
// - two_pass_or_welford: the larger bound of the two; exact only where both are.
//
// Welford in lanes of m updates, merged in L levels (decision 47), with s = sqrt(1 + ln m):
// - mean: m + 3 ln m + 8 + 5 L instead of n + 3 ln n + 8;
// - variance: (2 (m + L) + 1.5 s) k u var + (m + 11 L + 8.5 s + 14) u var + (1 + L) dm^2.
Statistics statistics(const RowView& row, const Arithmetic& arithmetic);

}  // namespace fusesmith::oracle::ref
