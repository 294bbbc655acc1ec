// Conversions between bit patterns and numbers, inline because executors and fills call them for every
// element. Part of graph/dtype.h: include that.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "graph/namespaces.h"

namespace fusesmith::graph {

inline float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

inline uint16_t f32_to_bf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) {  // infinity, NaN
    return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  }
  // Reading the significand with f32's exponent range and multiplying by 2^112 also handles subnormals.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | sign);
}

inline uint16_t f32_to_f16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to 65536 or more
  if (magnitude < 0x38800000u) {  // subnormal in f16: let f32 addition align and round
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(aligned) - 0x3f000000u));
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

// A real number as f32, rounded to odd: an inexact result has an odd last bit. Rounding it again to f16 or
// bf16 gives the nearest-even rounding of x itself (Boldo and Melquiond, "Emulation of FMA and correctly
// rounded sums", 2008).
inline float f64_to_f32_odd(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  if ((bits & 0x7ff0000000000000u) >=
      0x3810000000000000u) {  // normal in f32: truncate 29 bits, remember whether any was set
    const uint64_t lost = bits & 0x1fffffffu;
    return static_cast<float>(std::bit_cast<double>((bits - lost) | uint64_t{lost != 0} << 29));
  }
  const float nearest = static_cast<float>(x);
  const uint32_t nearest_bits = std::bit_cast<uint32_t>(nearest);
  if (static_cast<double>(nearest) == x || (nearest_bits & 1u)) return nearest;
  const bool below = std::fabs(static_cast<double>(nearest)) < std::fabs(x);
  return std::bit_cast<float>(below ? nearest_bits + 1 : nearest_bits - 1);  // the odd neighbour on x's side
}

inline uint16_t f64_to_f16(double x) { return f32_to_f16(f64_to_f32_odd(x)); }
inline uint16_t f64_to_bf16(double x) { return f32_to_bf16(f64_to_f32_odd(x)); }

}  // namespace fusesmith::graph
