#include "oracle/compare_block.h"

#include <cmath>

#include "oracle/bounded.h"
#include "oracle/contract.h"

namespace fusesmith::oracle {
namespace {

// Written out, since calls of error_before_store and half_ulp keep the loop from being vectorised; the
// results are equal bit for bit (compare_block_test.cc).
//
// An element with |got - v| < half_ulp(v) is rnd(v): half_ulp is half the distance of the floats around v, or
// less than that distance to the float below a power of two, so that no float is nearer. Rounding is
// monotonic, so rnd(v - e) <= rnd(v) <= rnd(v + e). Infinities and NaN are in no comparison below.
template <bool kRoundsToF32>
bool look_at(CompareBlock& block, const double* got, const double* v, const double* e, double largest_share) {
  const double smallest = std::ldexp(1.0, min_exponent(block.dtype)), u = unit_roundoff(block.dtype);
  const bool signed_zeros = block.signed_zeros;
  int64_t plain = 0;
  for (size_t i = 0; i < CompareBlock::kSize; ++i) {
    const double binade = binade_of(v[i]);
    const double half = (binade < smallest ? smallest : binade) * u, magnitude = std::fabs(v[i]);
    const double distance = std::fabs(got[i] - v[i]);
    const double error = kRoundsToF32 ? e[i] + (kU * (magnitude + e[i]) + 0x1p-150) : e[i];
    const double share = (e[i] == 0 ? 0 : distance) / (error + half);
    block.share[i] = share;
    const bool needs_look = !(distance < half) | is_loose_alone(v[i], e[i]) | (share > largest_share) |
                            (signed_zeros & (v[i] == 0));
    block.plain[i] = needs_look ? 0 : 1;
    plain += block.plain[i];
  }
  return plain == static_cast<int64_t>(CompareBlock::kSize);
}

}  // namespace

bool CompareBlock::look(const double* got, const double* v, const double* e, double largest_share) {
  return computed && is_below_f32(dtype) ? look_at<true>(*this, got, v, e, largest_share)
                                         : look_at<false>(*this, got, v, e, largest_share);
}

}  // namespace fusesmith::oracle
