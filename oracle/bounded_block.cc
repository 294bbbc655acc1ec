#include "oracle/bounded_block.h"

#include <cmath>

#include "oracle/bounded.h"
#include "oracle/contract.h"

namespace fusesmith::oracle {
namespace {

// f32_rounding in bounded.cc: 0 if v is known exactly and is an f32.
double rounding_to_f32(double v, double e) {
  const double rounding = static_cast<double>(static_cast<float>(v)) - v;
  const double bound = kU * (std::fabs(v) + e) + 0x1p-150;
  const double of_exact = rounding == 0 ? 0 : bound;
  return e == 0 ? of_exact : bound;
}

// An inner value that stays in f32. Below 1e38, saturate() changes nothing.
bool keep_in_f32(double* __restrict v, double* __restrict e) {
  double kept[kBoundedBlock];
  int64_t ordinary = 0;
  for (size_t i = 0; i < kBoundedBlock; ++i) {
    kept[i] = e[i] + rounding_to_f32(v[i], e[i]);
    ordinary += std::fabs(v[i]) + e[i] < 1e38 ? 1 : 0;
  }
  if (ordinary != static_cast<int64_t>(kBoundedBlock)) return false;
  for (size_t i = 0; i < kBoundedBlock; ++i) e[i] = kept[i];
  return true;
}

// round_to for |x| below the largest power of two of the format. `smallest`: its smallest normal number;
// `bits`: its precision p. Adding 1.5 * 2^52 units, where a unit is the distance of its numbers around x,
// rounds x to a whole number of units, ties to even, since the sum's own last bit is one unit; subtracting it
// again is exact. A result of 0 keeps the sign of x.
double round_to_16_bit(double x, double smallest, double shift) {
  const double binade = binade_of(x);
  const double large = (binade < smallest ? smallest : binade) * shift;
  return std::copysign(x + large - large, x);
}

// A 16-bit inner value that is rounded to its dtype, by way of f32.
bool round_block(Dtype dtype, double* __restrict v, double* __restrict e) {
  const double smallest = dtype == Dtype::f16 ? 0x1p-14 : 0x1p-126;
  const double shift = dtype == Dtype::f16 ? 0x1.8p42 : 0x1.8p45;  // 1.5 * 2^(52 - p + 1)
  const double limit = dtype == Dtype::f16 ? 0x1p15 : 0x1p126;
  double rounded[kBoundedBlock], error[kBoundedBlock];
  int64_t ordinary = 0;
  for (size_t i = 0; i < kBoundedBlock; ++i) {
    const double wide = e[i] + rounding_to_f32(v[i], e[i]);
    const double middle = round_to_16_bit(v[i], smallest, shift);
    const double below = middle - round_to_16_bit(v[i] - wide, smallest, shift);
    const double above = round_to_16_bit(v[i] + wide, smallest, shift) - middle;
    rounded[i] = middle;
    error[i] = below < above ? above : below;
    ordinary += std::fabs(v[i]) + wide < limit ? 1 : 0;
  }
  if (ordinary != static_cast<int64_t>(kBoundedBlock)) return false;
  for (size_t i = 0; i < kBoundedBlock; ++i) v[i] = rounded[i], e[i] = error[i];
  return true;
}

}  // namespace

bool pass_on_block(Dtype dtype, bool rounded, double* v, double* e) {
  return rounded && is_narrow(dtype) ? round_block(dtype, v, e) : keep_in_f32(v, e);
}

}  // namespace fusesmith::oracle
