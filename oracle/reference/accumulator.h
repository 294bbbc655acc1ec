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

// The sum of n products is term(k), each of which is aligned by alignment(k), the product of the powers of
// two of its factors, 0 for a term that is 0 in every execution. Returns the largest error of all
// accumulators, without the additions in f32 by which they are promoted. Terms are added in the order of k.
//
// In one step, E is the exponent of the largest of the group's alignments and the accumulator. Each of them
// is cut at 2^(E - fraction_bits), by less than that and at most its own magnitude, unless it is a multiple;
// then their sum is cut to out_bits (MMA-Sim's rule; docs/results/fp8.md). The accumulator may be off by
// `error`, so that E is that of |sum| + error, at most.
template <class Term, class Alignment>
double accumulator_error(const Accumulator& unit, int64_t n, Term term, Alignment alignment) {
  double total = 0;
  const int64_t tile = unit.promote_every > 0 ? unit.promote_every : std::max<int64_t>(n, 1);
  for (int64_t first = 0; first < n; first += tile) {
    double sum = 0, error = 0;
    const int64_t end = std::min(first + tile, n);
    for (int64_t group = first; group < end; group += unit.group) {
      const int64_t last = std::min(group + unit.group, end);
      double largest = std::fabs(sum) + error;
      for (int64_t k = group; k < last; ++k) largest = std::max(largest, alignment(k));
      if (largest == 0) continue;
      const double cut = cut_unit(largest, unit.fraction_bits);
      double next = sum, lost = error > 0 || !is_multiple(sum, cut) ? cut : 0;
      for (int64_t k = group; k < last; ++k) {
        if (alignment(k) == 0) continue;
        const double x = term(k);
        next += x;
        if (!is_multiple(x, cut)) lost += std::min(cut, 4 * alignment(k));
      }
      error += lost;
      const double out = std::fabs(next) + error;
      if (out > 0) {
        const double out_cut = cut_unit(out, unit.out_bits);
        if (error > 0 || !is_multiple(next, out_cut)) error += out_cut;
      }
      sum = next;
    }
    total += error;
  }
  return total;
}

}  // namespace fusesmith::oracle::ref
