// Storage types of tensors, and exact conversions between their bit patterns and doubles.
// Every conversion rounds to nearest even, keeps NaN a NaN, and overflows to infinity as IEEE 754 does.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "graph/dtype_bits.h"
#include "graph/namespaces.h"

namespace fusesmith::graph {

enum class Dtype : uint8_t { f32, f16, bf16, i32, boolean };

inline constexpr std::array<Dtype, 5> kDtypes = {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::i32,
                                                 Dtype::boolean};
inline constexpr std::array<Dtype, 3> kFloatDtypes = {Dtype::f32, Dtype::f16, Dtype::bf16};

// The word used in files and reports: "f32", "f16", "bf16", "i32", "bool".
std::string_view name(Dtype dtype);
std::optional<Dtype> parse_dtype(std::string_view text);

// Bytes of one element.
int size_of(Dtype dtype);
bool is_float(Dtype dtype);
inline bool is_16_bit(Dtype dtype) { return dtype == Dtype::f16 || dtype == Dtype::bf16; }

// p, the bits of the significand with its hidden one (f32 24, f16 11, bf16 8). Unit roundoff is 2^-p.
int precision(Dtype dtype);
double unit_roundoff(Dtype dtype);
// The exponent of the smallest normal number (f32 and bf16 -126, f16 -14).
int min_exponent(Dtype dtype);
double max_finite(Dtype dtype);

// Nearest-even rounding of a real number to the storage dtype, without double rounding; identity on i32 and
// bool.
inline double round_to(Dtype dtype, double x) {
  switch (dtype) {
    case Dtype::f32:
      return static_cast<double>(static_cast<float>(x));
    case Dtype::f16:
      return static_cast<double>(f16_to_f32(f64_to_f16(x)));
    case Dtype::bf16:
      return static_cast<double>(bf16_to_f32(f64_to_bf16(x)));
    default:
      return x;
  }
}

}  // namespace fusesmith::graph
