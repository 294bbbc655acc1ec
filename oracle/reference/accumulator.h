// The error of an accumulator that adds products of quantized factors in groups (Accumulator in
// oracle/contract.h).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "oracle/bounded.h"
#include "oracle/contract.h"

namespace fusesmith::oracle::ref {

// 2^k, k being the number of fraction bits below the largest power of two that is not above x > 0.
inline double cut_unit(double x, int fraction_bits) { return binade_of(x) * std::ldexp(1.0, -fraction_bits); }

inline bool is_multiple(double x, double unit) { return std::floor(x / unit) * unit == x; }

// One product: its exact value and the largest error of that, from its factors; and the product of the powers
// of two of its factors by which it is aligned, at most: 0 if it is 0 in every execution.
struct AlignedTerm {
  double v, e, alignment;
};

// The sum of n products term(k). Returns the largest error of all
// accumulators, without the additions in f32 by which they are promoted. Terms are added in the order of k.
//
// In one step, E is the exponent of the largest of the group's alignments and the accumulator. Each of them
// is cut at 2^(E - fraction_bits), by less than that and at most its own magnitude, unless it is a multiple;
// then their sum is cut to out_bits (MMA-Sim's rule; docs/results/fp8.md). The accumulator may be off by
// `off`, so that E is that of |sum| + off, at most; errors of factors are a part of that, and none of the
// result.
template <class Term>
double accumulator_error(const Accumulator& unit, int64_t n, Term term) {
  double total = 0;
  const int64_t tile = unit.promote_every > 0 ? unit.promote_every : std::max<int64_t>(n, 1);
  for (int64_t first = 0; first < n; first += tile) {
    double sum = 0, error = 0, of_factors = 0;
    const int64_t end = std::min(first + tile, n);
    for (int64_t group = first; group < end; group += unit.group) {
      const int64_t last = std::min(group + unit.group, end);
      double largest = std::fabs(sum) + error + of_factors;
      for (int64_t k = group; k < last; ++k) largest = std::max(largest, term(k).alignment);
      if (largest == 0) continue;
      const double cut = cut_unit(largest, unit.fraction_bits);
      if (error + of_factors > 0 || !is_multiple(sum, cut)) error += cut;
      for (int64_t k = group; k < last; ++k) {
        const AlignedTerm x = term(k);
        if (x.alignment == 0) continue;
        sum += x.v;
        of_factors += x.e;
        if (x.e > 0 || !is_multiple(x.v, cut)) error += std::min(cut, 4 * x.alignment);
      }
      const double off = error + of_factors, out = std::fabs(sum) + off;
      if (out == 0) continue;
      const double out_cut = cut_unit(out, unit.out_bits);
      if (off > 0 || !is_multiple(sum, out_cut)) error += out_cut;
    }
    total += error;
  }
  return total;
}

}  // namespace fusesmith::oracle::ref
