// Storage types of tensors, and exact conversions between their bit patterns and doubles. Conversions round
// to nearest, ties to even, and keep NaN a NaN; what a format has no number for, DtypeInfo says.
//
// The low-precision formats are those of the OCP specifications "8-bit Floating Point" (E4M3 and E5M2) and
// "Microscaling Formats" (E8M0, E2M1): PyTorch's float8_e4m3fn, float8_e5m2, float8_e8m0fnu and
// float4_e2m1fn. An element of f4e2m1 or s4 takes a byte, the upper four bits of which are 0; kernels that
// read two of them from one byte pack them first.
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

enum class Dtype : uint8_t { f32, f16, bf16, i32, boolean, f8e4m3, f8e5m2, f8e8m0, f4e2m1, s8, s4 };

inline constexpr std::array<Dtype, 11> kDtypes = {Dtype::f32,     Dtype::f16,    Dtype::bf16,   Dtype::i32,
                                                  Dtype::boolean, Dtype::f8e4m3, Dtype::f8e5m2, Dtype::f8e8m0,
                                                  Dtype::f4e2m1,  Dtype::s8,     Dtype::s4};
inline constexpr std::array<Dtype, 3> kFloatDtypes = {Dtype::f32, Dtype::f16, Dtype::bf16};
inline constexpr std::array<Dtype, 6> kQuantizedDtypes = {Dtype::f8e4m3, Dtype::f8e5m2, Dtype::f8e8m0,
                                                          Dtype::f4e2m1, Dtype::s8,     Dtype::s4};

// What ops do with a dtype. They compute in floats. Quantized elements are made by casts, and read by casts,
// products and ops that move elements; integers are indices, and a bool is a mask.
enum class DtypeKind : uint8_t { floating, quantized, integer, boolean };

inline constexpr std::string_view kDtypeKinds[] = {"float", "quantized", "integer", "bool"};

struct DtypeInfo {
  std::string_view name;  // the word used in files and reports
  DtypeKind kind;
  int bytes;         // of one element
  int precision;     // bits of the significand with its hidden one; of s8 and s4, bits of the number; else 0
  int min_exponent;  // of the smallest normal number. s8 and s4 have multiples of 2^(min_exponent - precision
                     // + 1)
  double lowest;     // the smallest finite number
  double max_finite;
  bool has_infinity, has_nan;
};

// One row for each dtype, in the order of kDtypes. `list dtypes` prints it, and Python reads it from
// python/fusesmith/vocabulary.json.
inline constexpr DtypeInfo kDtypeInfos[] = {
    {"f32", DtypeKind::floating, 4, 24, -126, -3.4028234663852886e38, 3.4028234663852886e38, true, true},
    {"f16", DtypeKind::floating, 2, 11, -14, -65504.0, 65504.0, true, true},
    {"bf16", DtypeKind::floating, 2, 8, -126, -3.3895313892515355e38, 3.3895313892515355e38, true, true},
    {"i32", DtypeKind::integer, 4, 0, 0, -2147483648.0, 2147483647.0, false, false},
    {"bool", DtypeKind::boolean, 1, 0, 0, 0.0, 1.0, false, false},
    {"f8e4m3", DtypeKind::quantized, 1, 4, -6, -448.0, 448.0, false, true},
    {"f8e5m2", DtypeKind::quantized, 1, 3, -14, -57344.0, 57344.0, true, true},
    {"f8e8m0", DtypeKind::quantized, 1, 1, -127, 0x1p-127, 0x1p127, false, true},
    {"f4e2m1", DtypeKind::quantized, 1, 2, 0, -6.0, 6.0, false, false},
    {"s8", DtypeKind::quantized, 1, 8, 7, -128.0, 127.0, false, false},
    {"s4", DtypeKind::quantized, 1, 4, 3, -8.0, 7.0, false, false},
};
static_assert(std::size(kDtypeInfos) == kDtypes.size());

constexpr const DtypeInfo& info(Dtype dtype) { return kDtypeInfos[static_cast<size_t>(dtype)]; }
constexpr std::string_view name(Dtype dtype) { return info(dtype).name; }
std::optional<Dtype> parse_dtype(std::string_view text);

constexpr int size_of(Dtype dtype) { return info(dtype).bytes; }
constexpr int precision(Dtype dtype) { return info(dtype).precision; }
// A dtype in which ops compute: f32, f16 or bf16.
constexpr bool is_float(Dtype dtype) { return info(dtype).kind == DtypeKind::floating; }
constexpr bool is_quantized(Dtype dtype) { return info(dtype).kind == DtypeKind::quantized; }
// What has numbers that are rounded: a float or a quantized dtype.
constexpr bool is_rounded(Dtype dtype) { return is_float(dtype) || is_quantized(dtype); }
constexpr bool is_quantized_integer(Dtype dtype) { return dtype == Dtype::s8 || dtype == Dtype::s4; }
// Formats of quantized factors, whose products are f32.
constexpr bool is_quantized_float(Dtype dtype) {
  return dtype == Dtype::f8e4m3 || dtype == Dtype::f8e5m2 || dtype == Dtype::f4e2m1;
}
// A float dtype that is less precise than f32, in which ops compute.
constexpr bool is_narrow(Dtype dtype) { return is_float(dtype) && precision(dtype) < precision(Dtype::f32); }
// What a result that is computed in f32 loses digits by, where it is stored.
constexpr bool is_below_f32(Dtype dtype) { return is_narrow(dtype) || is_quantized(dtype); }
constexpr int min_exponent(Dtype dtype) { return info(dtype).min_exponent; }
constexpr double max_finite(Dtype dtype) { return info(dtype).max_finite; }
// 2^-p, p being the precision.
double unit_roundoff(Dtype dtype);

// Of a quantized dtype: the number that a byte stands for, and the byte of the nearest number. Beyond the
// largest number, f8e4m3 and f8e8m0 give NaN, f8e5m2 an infinity, and f4e2m1, s8 and s4, which have neither,
// the number next to it. f8e8m0 has powers of two alone, of which the nearest is the larger one at a tie;
// numbers up to 2^-127, also negative ones, give 2^-127. A NaN is 6 in f4e2m1, and 0 in s8 and s4.
using QuantizedNumbers = std::array<float, 256>;  // by byte
const QuantizedNumbers& quantized_numbers(Dtype dtype);
inline float decode_quantized(Dtype dtype, uint8_t code) { return quantized_numbers(dtype)[code]; }
uint8_t encode_quantized(Dtype dtype, double x);
// Whether elements may have this byte: any but of f4e2m1, s4 and bool.
bool is_element(Dtype dtype, uint8_t byte);

// How a number becomes one of another dtype. `nearest` is as described above.
enum class Rounding : uint8_t { nearest, down, up };
inline constexpr std::string_view kRoundings[] = {"nearest", "down", "up"};

// What becomes of a number that is rounded to one beyond the largest of the dtype: what the format has for
// that (see encode_quantized; floats have infinities), or, as of infinities themselves, the largest number.
enum class Overflow : uint8_t { special, saturate };
inline constexpr std::string_view kOverflows[] = {"special", "saturate"};

double round_to_quantized(Dtype dtype, double x);

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
    case Dtype::i32:
    case Dtype::boolean:
      return x;
    default:
      return round_to_quantized(dtype, x);
  }
}

// The rounding of a cast.
struct RoundTo {
  Dtype dtype = Dtype::f32;
  Overflow overflow = Overflow::special;
  Rounding rounding = Rounding::nearest;

  double operator()(double x) const;
  bool operator==(const RoundTo&) const = default;
};

}  // namespace fusesmith::graph
