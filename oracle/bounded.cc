#include "oracle/bounded.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "oracle/bounded_block.h"
#include "oracle/contract.h"

namespace fusesmith::oracle {
namespace {

// The rounding error of a value that is stored in f32, or computed in f32 first.
double f32_rounding(double v, double e) {
  if (e == 0 && static_cast<double>(static_cast<float>(v)) == v) return 0;
  return kU * (std::fabs(v) + e) + 0x1p-150;
}

// A value beyond the largest finite f32 may have become infinite. `exact_error` is e without the last
// rounding: what exceeds the largest f32 by less than half an ulp is rounded to it.
void saturate(double& v, double& e, double exact_error) {
  const double limit = max_finite(Dtype::f32);
  if (!(std::fabs(v) + exact_error > limit * (1 + kU / 2)) || std::isinf(v)) return;
  if (std::fabs(v) - e > limit * (1 + kU)) {
    v = std::copysign(kInfinity, v);
    e = 0;
  } else {
    e = kInfinity;
  }
}

// Zero and powers of two that are known exactly round nowhere. Rows of equal probabilities, or of 0 and 1,
// therefore stay exact in every algorithm, and exact data requires equal bits of fused attention as well.
bool exact_at_any_scale(double v, double e) {
  constexpr uint64_t kFraction = (uint64_t{1} << 52) - 1;
  const auto bits = std::bit_cast<uint64_t>(v);
  const bool normal = (bits >> 52 & 0x7ff) != 0;
  return e == 0 && (normal ? (bits & kFraction) == 0 : std::popcount(bits & kFraction) <= 1);
}

}  // namespace

// From the exponent bits, because it runs for every element.
double half_ulp(Dtype dtype, double v) {
  const int exponent = static_cast<int>(std::bit_cast<uint64_t>(v) >> 52 & 0x7ff) - 1023;
  const int half = std::max(exponent, min_exponent(dtype)) - precision(dtype);
  return std::bit_cast<double>(static_cast<uint64_t>(half + 1023) << 52);
}

double error_before_store(Dtype dtype, bool computed, double v, double e) {
  if (!computed || !is_below_f32(dtype) || !std::isfinite(v)) return e;
  return e + f32_rounding(v, e);
}

Interval stored_interval(Dtype dtype, bool computed, double v, double e) {
  const double wide = error_before_store(dtype, computed, v, e);
  double lo = v - wide, hi = v + wide;
  if (is_quantized(dtype) && std::isfinite(v)) {  // what is beyond the range, the reference of casts says
    lo = std::fmax(lo, info(dtype).lowest);
    hi = std::fmin(hi, max_finite(dtype));
  }
  return {round_to(dtype, lo), round_to(dtype, hi)};
}

namespace {

void pass_on_element(Dtype dtype, bool computed, bool rounded, double relative, double absolute, double& v,
                     double& e) {
  if (!std::isfinite(v) || std::isinf(e)) return;
  if (relative > 0 && !exact_at_any_scale(v, e)) e += relative * (std::fabs(v) + e) + absolute;
  if ((rounded && is_narrow(dtype)) || is_quantized(dtype)) {
    const Interval stored = stored_interval(dtype, computed, v, e);
    v = round_to(dtype, v);
    e = stored.lo == stored.hi ? 0 : std::fmax(stored.hi - v, v - stored.lo);
    if (std::isnan(e)) e = kInfinity;  // part of the interval overflows
  } else if (computed) {
    const double exact_error = e;
    e += f32_rounding(v, e);
    saturate(v, e, exact_error);
  }
}

}  // namespace

void pass_on(Bounded& value, bool computed, bool rounded, double relative, double absolute) {
  const Dtype dtype = value.type.dtype;
  if (!is_rounded(dtype) || (!computed && relative == 0)) return;
  value.e.resize(value.v.size());
  double *const v = value.v.data(), *const e = value.e.data();
  const bool in_blocks = computed && relative == 0 && is_float(dtype);
  for (size_t begin = 0; begin < value.v.size(); begin += kBoundedBlock) {
    const size_t end = std::min(begin + kBoundedBlock, value.v.size());
    if (in_blocks && end - begin == kBoundedBlock && pass_on_block(dtype, rounded, v + begin, e + begin))
      continue;
    for (size_t i = begin; i < end; ++i)
      pass_on_element(dtype, computed, rounded, relative, absolute, v[i], e[i]);
  }
  value.forget_zero_errors();
}

void Bounded::forget_zero_errors() {
  if (std::all_of(e.begin(), e.end(), [](double x) { return x == 0; })) e.clear();
}

void cover(Bounded& value, const Bounded& other) {
  std::erase_if(value.either_infinity,
                [&](int64_t i) { return !other.is_either_infinity(static_cast<size_t>(i)); });
  for (size_t i = 0; i < value.v.size(); ++i) {
    const double v = value.v[i], e = value.error(i), w = other.v[i];
    if (v == w || (std::isnan(v) && std::isnan(w))) {
      value.set(i, v, std::fmax(e, other.error(i)));
    } else if (!std::isfinite(v) || !std::isfinite(w)) {
      value.set(i, v, kInfinity);  // it overflows, or is NaN, in one of the readings
    } else if (!std::isinf(e)) {
      value.set(i, v, std::fmax(e, std::fabs(w - v) + other.error(i)));
    }
  }
}

void unround(Bounded& stored) {
  const Dtype dtype = stored.type.dtype;
  if (!is_float(dtype)) return;
  for (size_t i = 0; i < stored.v.size(); ++i) {
    const double v = stored.v[i];
    if (std::isnan(v)) continue;
    // An infinity may be a finite value that is too large for the dtype.
    const double e = std::isinf(v) ? kInfinity : half_ulp(dtype, v);
    stored.set(i, v, stored.error(i) + e);
  }
}

void pass_on_either(Bounded& value, bool computed) {
  Bounded rounded = value;
  pass_on(rounded, computed, true, 0);
  pass_on(value, computed, false, 0);
  cover(value, rounded);
}

}  // namespace fusesmith::oracle
