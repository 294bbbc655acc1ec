// Storage types of tensors, and exact conversions between their bit patterns and doubles.
// Every conversion rounds to nearest even, keeps NaN a NaN, and overflows to infinity as IEEE 754 does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "graph/dtype_bits.h"
#include "graph/namespaces.h"

namespace fusesmith::graph {

enum class Dtype : uint8_t { f32, f16, bf16, i32, boolean };

inline constexpr std::array<Dtype, 5> kDtypes = {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::i32,
                                                 Dtype::boolean};
inline constexpr std::array<Dtype, 3> kFloatDtypes = {Dtype::f32, Dtype::f16, Dtype::bf16};

struct DtypeInfo {
  std::string_view name;  // the word used in files and reports
  int bytes;              // of one element
  int precision;          // bits of the significand with its hidden one; 0 for integers
  int min_exponent;       // of the smallest normal number
  double max_finite;
};

// One row for each dtype, in the order of kDtypes. `list dtypes` prints it, and Python reads it from
// python/fusesmith/vocabulary.json.
inline constexpr DtypeInfo kDtypeInfos[] = {
    {"f32", 4, 24, -126, 3.4028234663852886e38},
    {"f16", 2, 11, -14, 65504.0},
    {"bf16", 2, 8, -126, 3.3895313892515355e38},
    {"i32", 4, 0, 0, 2147483647.0},
    {"bool", 1, 0, 0, 1.0},
};
static_assert(std::size(kDtypeInfos) == kDtypes.size());

constexpr const DtypeInfo& info(Dtype dtype) { return kDtypeInfos[static_cast<size_t>(dtype)]; }
constexpr std::string_view name(Dtype dtype) { return info(dtype).name; }
std::optional<Dtype> parse_dtype(std::string_view text);

constexpr int size_of(Dtype dtype) { return info(dtype).bytes; }
constexpr int precision(Dtype dtype) { return info(dtype).precision; }
constexpr bool is_float(Dtype dtype) { return precision(dtype) > 0; }
// A float dtype that is less precise than f32, in which ops compute.
constexpr bool is_narrow(Dtype dtype) { return is_float(dtype) && precision(dtype) < precision(Dtype::f32); }
constexpr int min_exponent(Dtype dtype) { return info(dtype).min_exponent; }
constexpr double max_finite(Dtype dtype) { return info(dtype).max_finite; }
// 2^-p, p being the precision.
double unit_roundoff(Dtype dtype);

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
