// Shared by the references of sums: which elements a result reads, whether every order of adding them is
// exact, and properties of single numbers.
#pragma once

#include <bit>
#include <cmath>

#include "oracle/reference/ops.h"

namespace fusesmith::oracle::ref {

inline constexpr int kAnyGranularity = 4096;  // granularity of 0, a multiple of everything

// The exponent of the lowest set bit of x: x is a multiple of 2^that.
inline int granularity(double x) {
  if (x == 0 || !std::isfinite(x)) return kAnyGranularity;
  const auto bits = std::bit_cast<uint64_t>(x);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  const int field = static_cast<int>(bits >> 52 & 0x7ff);
  if (field == 0) return std::countr_zero(fraction) - 1074;
  return std::countr_zero(fraction | uint64_t{1} << 52) + field - 1075;
}

// Whether multiples of 2^g whose magnitudes sum to s have f32 partial sums in every order. Sums of f32
// numbers never lose bits by underflow; sums of products may.
inline bool sums_are_exact(int g, double s, int smallest = -149) {
  if (g < smallest) return false;
  const int exponent = std::min(24 + g, 1000);
  return s <= std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// Whether x is an f32 that neither rounding nor flushing of subnormals changes.
inline bool is_plain_f32(double x) {
  return x == 0 || (static_cast<double>(static_cast<float>(x)) == x && std::fabs(x) >= 0x1p-126);
}

// 4^k within the normal range of f32: its square root is a power of two.
inline bool is_power_of_four(double x) {
  int exponent = 0;
  return x >= 0x1p-126 && std::frexp(x, &exponent) == 0.5 && exponent % 2 != 0;
}

// Dividing by a power of two, or multiplying by its inverse, does not round.
inline bool is_power_of_two(size_t n) { return n > 0 && (n & (n - 1)) == 0; }

// All offsets that the axes reach, in row-major order.
std::vector<int64_t> offsets(const Shape& sizes, const Shape& strides);

// Result r of a reduction over `axes` (resolved) reads the elements first[r] + step[k] for all k.
struct ReducedRows {
  std::vector<int64_t> first, step;
};
ReducedRows reduced_rows(const Shape& shape, const std::vector<int>& axes);

}  // namespace fusesmith::oracle::ref
