// The error of an accumulator that adds products of quantized factors in groups (Accumulator in
// oracle/contract.h).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

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

// The largest magnitudes in a group of terms: of their alignments, and of the sums of consecutive terms that
// end in it, whichever term they start at.
struct GroupOfTerms {
  double alignment = 0, sum = 0;
};

// As accumulator_error below, of an accumulator that may start again at 0 at any term. A group of the unit is
// then not one of those that are counted from the first term, but lies in two of them, and a part may end
// with an incomplete one, so that the accumulator is cut twice as often.
template <class Term>
double error_of_parts(const Accumulator& unit, int64_t n, Term term) {
  std::vector<GroupOfTerms> groups(1);  // and one without terms at each end
  double sum = 0, low = 0, high = 0;
  for (int64_t k = 0; k < n; ++k) {
    if (k % unit.group == 0) groups.emplace_back();
    const AlignedTerm x = term(k);
    sum += x.v;
    low = std::min(low, sum), high = std::max(high, sum);
    groups.back().alignment = std::max(groups.back().alignment, x.alignment);
    groups.back().sum = std::max({groups.back().sum, sum - low, high - sum});
  }
  groups.emplace_back();
  double error = 0, of_factors = 0;
  for (int64_t k = 0; k < n; k += unit.group) {
    const GroupOfTerms* const at = &groups[static_cast<size_t>(k / unit.group)];  // the one before, own, next
    const int64_t end = std::min(k + unit.group, n);
    for (int64_t i = k; i < end; ++i) of_factors += term(i).e;
    const double sums = std::max(at[0].sum, at[1].sum) + error + of_factors;
    const double largest = std::max({at[0].alignment, at[1].alignment, at[2].alignment, sums});
    if (largest == 0) continue;
    const double cut = cut_unit(largest, unit.fraction_bits);
    error += 2 * cut;
    for (int64_t i = k; i < end; ++i) error += std::min(cut, 4 * term(i).alignment);
    const double out = std::max(at[0].sum, at[1].sum) + error + of_factors;
    error += 2 * cut_unit(out, unit.out_bits);
  }
  return error;
}

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
  if (unit.promote_every == Accumulator::kAnywhere) return error_of_parts(unit, n, term);
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
