// tf32 on the CPU: f32 operands of products are rounded to 10 explicit significand bits, as tensor cores
// read them. Products of two such numbers are exact in f32; sums stay in f32.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "graph/dtype.h"

namespace fusesmith::backends {

// How products read f32 operands.
enum class F32Products : uint8_t { ieee, tf32 };

// The nearest tf32 number, ties away from zero, like the PTX instruction cvt.rna.tf32.f32. A finite number
// that would become infinite is truncated instead. NaN and infinities are unchanged.
inline float to_tf32(float x) {
  constexpr uint32_t kExponent = 0x7f800000u, kKept = 0xffffe000u, kHalf = 0x1000u;
  const auto bits = std::bit_cast<uint32_t>(x);
  if ((bits & kExponent) == kExponent) return x;
  const uint32_t rounded = (bits + kHalf) & kKept;
  return std::bit_cast<float>((rounded & kExponent) == kExponent ? bits & kKept : rounded);
}

inline void to_tf32(std::span<float> values) {
  for (float& x : values) x = to_tf32(x);
}

// Whether an operand of this storage type is rounded. 16-bit values are tf32 numbers already, and f32
// values computed from them inside a kernel are not rounded.
inline bool reads_tf32(F32Products products, Dtype stored) {
  return products == F32Products::tf32 && stored == Dtype::f32;
}

}  // namespace fusesmith::backends
