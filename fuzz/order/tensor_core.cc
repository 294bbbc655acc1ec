#include "fuzz/order/tensor_core.h"

#include <algorithm>
#include <cmath>

namespace fusesmith::fuzz {
namespace {

// digits 2^shift, cut off towards zero.
int64_t shifted(int64_t digits, int shift) {
  if (shift >= 0) return digits << shift;
  const int64_t magnitude = shift <= -63 ? 0 : std::abs(digits) >> -shift;
  return digits < 0 ? -magnitude : magnitude;
}

// x is exact in f64.
float towards_zero(double x) {
  const auto y = static_cast<float>(x);
  return std::fabs(static_cast<double>(y)) > std::fabs(x) ? std::nextafter(y, 0.0f) : y;
}

}  // namespace

Significand significand_of(float x, int least_top) {
  if (x == 0 || !std::isfinite(x)) return {};  // sums that overflow are not emulated
  int exponent = 0;
  auto digits = static_cast<int64_t>(std::ldexp(std::frexp(x, &exponent), 24));
  Significand result{digits, exponent - 24, std::max(exponent - 1, least_top)};
  while (result.digits % 2 == 0) {  // short, so that products of 16-bit values stay below 2^22
    result.digits /= 2;
    ++result.exponent;
  }
  return result;
}

void TensorCore::add_part(const Significand& part) {
  largest_ = parts_.empty() ? part.top : std::max(largest_, part.top);
  parts_.push_back(part);
}

void TensorCore::add(float partial_sum) {
  if (partial_sum != 0) add_part(significand_of(partial_sum));
}

void TensorCore::add(const Significand& a, const Significand& b) {
  if (a.digits == 0 || b.digits == 0) return;
  add_part({a.digits * b.digits, a.exponent + b.exponent, a.top + b.top});
}

// To f32, or to fewer fraction bits. `exact` is exact in f64.
float TensorCore::rounded(double exact) const {
  if (arithmetic_.out_bits != 23 && exact != 0) {
    const double unit = std::ldexp(1, std::ilogb(exact) - arithmetic_.out_bits);
    const double digits = exact / unit;
    exact = (arithmetic_.rounds_to_nearest ? std::nearbyint(digits) : std::trunc(digits)) * unit;
  }
  return arithmetic_.rounds_to_nearest ? static_cast<float>(exact) : towards_zero(exact);
}

float TensorCore::take() {
  const int unit = largest_ - arithmetic_.fraction_bits;
  int64_t sum = 0;
  for (const Significand& part : parts_) sum += shifted(part.digits, part.exponent - unit);
  parts_.clear();
  return rounded(std::ldexp(static_cast<double>(sum), unit));
}

}  // namespace fusesmith::fuzz
