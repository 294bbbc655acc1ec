#include "graph/dtype.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace fusesmith::graph {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The distance from x to the next number of the dtype whose exponent range has no end, away from 0.
double step_at(const DtypeInfo& about, double x) {
  const int exponent = x == 0 ? about.min_exponent : std::max(std::ilogb(x), about.min_exponent);
  return std::ldexp(1.0, exponent - about.precision + 1);
}

double rounded(double x, Rounding rounding) {
  if (rounding == Rounding::down) return std::floor(x);
  return rounding == Rounding::up ? std::ceil(x) : std::nearbyint(x);
}

// The number of the dtype, if its exponents had no end: x is finite.
double on_grid(const DtypeInfo& about, double x, Rounding rounding) {
  const double step = step_at(about, x);
  return std::copysign(rounded(x / step, rounding) * step, x);
}

double beyond(const DtypeInfo& about, double x, Overflow overflow) {
  if (overflow == Overflow::saturate || !about.has_nan) return x < 0 ? about.lowest : about.max_finite;
  return about.has_infinity ? std::copysign(kInfinity, x) : kNaN;
}

uint8_t code_of(Dtype dtype, double y) {
  const DtypeInfo& about = info(dtype);
  if (is_quantized_integer(dtype)) {
    const auto code = static_cast<uint8_t>(static_cast<int>(y));
    return dtype == Dtype::s4 ? code & 15u : code;
  }
  if (dtype == Dtype::f8e8m0)
    return std::isnan(y) ? uint8_t{255} : static_cast<uint8_t>(std::ilogb(y) - about.min_exponent);
  const uint8_t sign = std::signbit(y) ? (dtype == Dtype::f4e2m1 ? 0x8 : 0x80) : 0;
  if (std::isnan(y)) return sign | 0x7f;
  if (std::isinf(y)) return sign | 0x7c;
  const double magnitude = std::fabs(y), step = step_at(about, y);
  const int exponent = magnitude == 0 ? about.min_exponent : std::max(std::ilogb(y), about.min_exponent);
  const int binade = 1 << (about.precision - 1);  // codes from one power of two to the next
  return static_cast<uint8_t>(
      sign | ((exponent - about.min_exponent) * binade + static_cast<int>(magnitude / step)));
}

double value_of(Dtype dtype, uint8_t code) {
  const DtypeInfo& about = info(dtype);
  if (dtype == Dtype::s8) return static_cast<int8_t>(code);
  if (dtype == Dtype::s4) return code < 8 ? code : code - 16;
  if (dtype == Dtype::f8e8m0) return code == 255 ? kNaN : std::ldexp(1.0, code + about.min_exponent);
  const int sign_bit = dtype == Dtype::f4e2m1 ? 3 : 7;
  const int magnitude = code & ((1 << sign_bit) - 1);
  const double sign = code >> sign_bit & 1 ? -1 : 1;
  if (dtype == Dtype::f8e4m3 && magnitude == 0x7f) return std::copysign(kNaN, sign);
  if (dtype == Dtype::f8e5m2 && magnitude >= 0x7c) return magnitude == 0x7c ? sign * kInfinity : kNaN;
  const int binade = 1 << (about.precision - 1);
  const int exponent = std::max(magnitude / binade, 1) - 1 + about.min_exponent;
  const int significand = magnitude / binade == 0 ? magnitude : magnitude % binade + binade;
  return sign * std::ldexp(significand, exponent - about.precision + 1);
}

}  // namespace

std::optional<Dtype> parse_dtype(std::string_view text) {
  for (Dtype dtype : kDtypes) {
    if (name(dtype) == text) return dtype;
  }
  return std::nullopt;
}

double unit_roundoff(Dtype dtype) { return std::ldexp(1.0, -precision(dtype)); }

double RoundTo::operator()(double x) const {
  const DtypeInfo& about = info(dtype);
  if (std::isnan(x)) return dtype == Dtype::f4e2m1 ? about.max_finite : is_quantized_integer(dtype) ? 0 : x;
  if (rounding == Rounding::nearest && overflow == Overflow::special && !is_quantized(dtype))
    return round_to(dtype, x);
  if (std::isinf(x)) return beyond(about, x, overflow);
  const double y = on_grid(about, x, rounding);
  if (y > about.max_finite) return beyond(about, y, overflow);
  if (y >= about.lowest) return is_quantized_integer(dtype) ? y + 0.0 : y;
  return dtype == Dtype::f8e8m0 ? about.lowest : beyond(about, y, overflow);
}

double round_to_quantized(Dtype dtype, double x) { return RoundTo{dtype}(x); }

uint8_t encode_quantized(Dtype dtype, double x) { return code_of(dtype, round_to_quantized(dtype, x)); }

const QuantizedNumbers& quantized_numbers(Dtype dtype) {
  static const auto kTables = [] {
    std::array<QuantizedNumbers, kQuantizedDtypes.size()> tables{};
    for (size_t d = 0; d < tables.size(); ++d) {
      for (size_t code = 0; code < tables[d].size(); ++code)
        tables[d][code] = static_cast<float>(value_of(kQuantizedDtypes[d], static_cast<uint8_t>(code)));
    }
    return tables;
  }();
  return kTables[static_cast<size_t>(dtype) - static_cast<size_t>(kQuantizedDtypes[0])];
}

bool is_element(Dtype dtype, uint8_t byte) {
  if (dtype == Dtype::boolean) return byte <= 1;
  return byte < 16 || (dtype != Dtype::f4e2m1 && dtype != Dtype::s4);
}

}  // namespace fusesmith::graph
