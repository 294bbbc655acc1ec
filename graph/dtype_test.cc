#include "graph/dtype.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "graph/philox.h"

namespace fusesmith::graph {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Half {
  Dtype dtype;
  float (*decode)(uint16_t);
  uint16_t (*encode)(float);
  uint16_t (*encode_f64)(double);
};
const Half kHalves[] = {{Dtype::f16, f16_to_f32, f32_to_f16, f64_to_f16},
                        {Dtype::bf16, bf16_to_f32, f32_to_bf16, f64_to_bf16}};

// The value of a pattern from the definition of the format: sign, exponent and significand taken apart.
double value_by_definition(Dtype dtype, uint16_t bits) {
  const int fraction_bits = precision(dtype) - 1;
  const int exponent_mask = (1 << (15 - fraction_bits)) - 1;
  const int exponent = (bits >> fraction_bits) & exponent_mask, fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = bits >> 15 ? -1 : 1;
  if (exponent == exponent_mask)
    return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * kInfinity;
  const int significand = exponent ? fraction | 1 << fraction_bits : fraction;
  return sign * std::ldexp(significand, std::max(exponent, 1) - 1 + min_exponent(dtype) - fraction_bits);
}

TEST(Dtype, NamesParse) {
  for (Dtype dtype : kDtypes) EXPECT_EQ(parse_dtype(name(dtype)), dtype);
  for (const char* text : {"", "f64", "F32", "f32 ", "boolean"}) EXPECT_FALSE(parse_dtype(text)) << text;
}

TEST(Dtype, Every16BitPatternDecodesByDefinition) {
  for (const Half& half : kHalves) {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      const auto pattern = static_cast<uint16_t>(bits);
      const double want = value_by_definition(half.dtype, pattern);
      const double got = static_cast<double>(half.decode(pattern));
      if (std::isnan(want))
        ASSERT_TRUE(std::isnan(got)) << bits;
      else
        ASSERT_EQ(std::bit_cast<uint64_t>(got), std::bit_cast<uint64_t>(want))
            << name(half.dtype) << " " << bits;
    }
  }
}

TEST(Dtype, Every16BitPatternSurvivesARoundTrip) {
  for (const Half& half : kHalves) {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      const auto pattern = static_cast<uint16_t>(bits);
      const float value = half.decode(pattern);
      if (std::isnan(value)) {
        ASSERT_TRUE(std::isnan(half.decode(half.encode(value)))) << bits;
        ASSERT_TRUE(std::isnan(half.decode(half.encode_f64(static_cast<double>(value))))) << bits;
      } else {
        ASSERT_EQ(half.encode(value), pattern);
        ASSERT_EQ(half.encode_f64(static_cast<double>(value)), pattern);
        ASSERT_EQ(round_to(half.dtype, static_cast<double>(value)), static_cast<double>(value));
      }
    }
  }
}

TEST(Dtype, LimitsAreThoseOfThePatterns) {
  EXPECT_EQ(max_finite(Dtype::f16), value_by_definition(Dtype::f16, 0x7bff));
  EXPECT_EQ(max_finite(Dtype::bf16), value_by_definition(Dtype::bf16, 0x7f7f));
  EXPECT_EQ(max_finite(Dtype::f32), static_cast<double>(std::numeric_limits<float>::max()));
  for (Dtype dtype : kFloatDtypes) {
    const double next = 1 + 2 * unit_roundoff(dtype);
    EXPECT_EQ(round_to(dtype, next), next);
    EXPECT_EQ(round_to(dtype, 1 + unit_roundoff(dtype)), 1);
  }
}

// All finite values of the format, increasing, each with its pattern; patterns of one sign increase with the
// value.
std::vector<uint16_t> positive_patterns(const Half& half) {
  std::vector<uint16_t> patterns;
  for (uint16_t bits = 0; std::isfinite(value_by_definition(half.dtype, bits)); ++bits)
    patterns.push_back(bits);
  return patterns;
}

// Nearest-even rounding of x >= 0 by search, without arithmetic on formats.
double nearest_by_search(Dtype dtype, const std::vector<uint16_t>& patterns, double x) {
  const auto value = [&](uint16_t bits) { return value_by_definition(dtype, bits); };
  const auto above = std::lower_bound(patterns.begin(), patterns.end(), x,
                                      [&](uint16_t bits, double y) { return value(bits) < y; });
  if (above == patterns.end()) {
    const double top = value(patterns.back()), step = top - value(patterns[patterns.size() - 2]);
    return x - top < step / 2 ? top : kInfinity;  // the tie goes to the even pattern, which is infinity's
  }
  if (value(*above) == x || above == patterns.begin()) return value(*above);
  const double hi = value(*above), lo = value(*(above - 1));
  if (x - lo == hi - x)
    return *above % 2 == 0 ? hi : lo;  // exact: lo and hi are close, differences have few bits
  return x - lo < hi - x ? lo : hi;
}

void expect_rounds_as_searched(const Half& half, const std::vector<uint16_t>& patterns, double x) {
  const double want = nearest_by_search(half.dtype, patterns, x);
  ASSERT_EQ(round_to(half.dtype, x), want) << name(half.dtype) << " " << x;
  ASSERT_EQ(round_to(half.dtype, -x), -want) << name(half.dtype) << " " << x;
  ASSERT_EQ(half.decode(half.encode_f64(x)), static_cast<float>(want)) << x;
  const auto as_f32 = static_cast<float>(x);
  if (static_cast<double>(as_f32) == x) {
    ASSERT_EQ(half.decode(half.encode(as_f32)), static_cast<float>(want)) << x;
  }
}

TEST(Dtype, RoundsToTheNearestAtEveryTieAndBesideIt) {
  for (const Half& half : kHalves) {
    const auto patterns = positive_patterns(half);
    for (size_t i = 0; i < patterns.size(); ++i) {
      const double lo = value_by_definition(half.dtype, patterns[i]);
      const double hi = i + 1 < patterns.size() ? value_by_definition(half.dtype, patterns[i + 1])
                                                : 2 * lo - value_by_definition(half.dtype, patterns[i - 1]);
      const double tie = lo + (hi - lo) / 2;
      expect_rounds_as_searched(half, patterns, tie);
      expect_rounds_as_searched(half, patterns,
                                std::nextafter(tie, kInfinity));  // a step of f64: f32 would round to the tie
      expect_rounds_as_searched(half, patterns, std::nextafter(tie, 0));
    }
  }
}

TEST(Dtype, RoundsRandomDoublesToTheNearest) {
  for (const Half& half : kHalves) {
    const auto patterns = positive_patterns(half);
    for (uint64_t i = 0; i < 100000; ++i) {
      const PhiloxBlock draw = philox(7, static_cast<uint64_t>(half.dtype), i);
      const double significand =
          1 + static_cast<double>(draw[0]) * 0x1p-32 + static_cast<double>(draw[1]) * 0x1p-52;
      const int lowest = min_exponent(half.dtype) - precision(half.dtype) - 2;
      const int exponent = lowest + static_cast<int>(draw[2] % static_cast<uint32_t>(131 - lowest));
      expect_rounds_as_searched(half, patterns, std::ldexp(significand, exponent));
    }
  }
}

TEST(Dtype, RoundingIsMonotonic) {
  for (Dtype dtype : kFloatDtypes) {
    std::vector<double> values;
    for (uint64_t i = 0; i < 20000; ++i) {
      const PhiloxBlock draw = philox(8, static_cast<uint64_t>(dtype), i);
      const auto x = std::bit_cast<double>(uint64_t{draw[1]} << 32 | draw[0]);
      if (!std::isnan(x))
        values.push_back(i % 2 ? x : static_cast<double>(std::bit_cast<float>(draw[0] & 0xff7fffffu)));
    }
    std::sort(values.begin(), values.end());
    for (size_t i = 1; i < values.size(); ++i)
      ASSERT_LE(round_to(dtype, values[i - 1]), round_to(dtype, values[i]));
  }
}

TEST(Dtype, KeepsSignsAndSpecialValues) {
  for (Dtype dtype : kFloatDtypes) {
    EXPECT_TRUE(std::isnan(round_to(dtype, std::numeric_limits<double>::quiet_NaN())));
    for (const double sign : {-1.0, 1.0}) {
      EXPECT_EQ(round_to(dtype, sign * kInfinity), sign * kInfinity);
      EXPECT_EQ(round_to(dtype, sign * 1e300), sign * kInfinity);
      for (const double tiny : {0.0, 1e-300, 5e-324}) {
        EXPECT_EQ(round_to(dtype, sign * tiny), 0);
        EXPECT_EQ(std::signbit(round_to(dtype, sign * tiny)), sign < 0);
      }
    }
  }
  EXPECT_EQ(round_to(Dtype::i32, 0.3), 0.3);
}

// The number of a code of a quantized dtype, from the definition of the format.
double quantized_by_definition(Dtype dtype, int code) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (dtype == Dtype::s8) return code < 128 ? code : code - 256;
  if (dtype == Dtype::s4) return code < 8 ? code : code - 16;
  if (dtype == Dtype::f8e8m0) return code == 255 ? nan : std::ldexp(1.0, code - 127);
  const int sign_bit = dtype == Dtype::f4e2m1 ? 3 : 7, fraction_bits = precision(dtype) - 1;
  const int bias = 1 - min_exponent(dtype);
  const int exponent = (code & ((1 << sign_bit) - 1)) >> fraction_bits;
  const int fraction = code & ((1 << fraction_bits) - 1);
  const double sign = code >> sign_bit ? -1 : 1;
  if (dtype == Dtype::f8e4m3 && exponent == 15 && fraction == 7) return nan;
  if (dtype == Dtype::f8e5m2 && exponent == 31) return fraction ? nan : sign * kInfinity;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

int code_count(Dtype dtype) { return dtype == Dtype::f4e2m1 || dtype == Dtype::s4 ? 16 : 256; }

// Its finite numbers, increasing, each once.
std::vector<double> numbers_of(Dtype dtype) {
  std::vector<double> numbers;
  for (int code = 0; code < code_count(dtype); ++code) {
    const double x = quantized_by_definition(dtype, code);
    if (std::isfinite(x)) numbers.push_back(x == 0 ? 0 : x);
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

TEST(Dtype, EveryCodeDecodesByDefinitionAndSurvivesARoundTrip) {
  for (const Dtype dtype : kQuantizedDtypes) {
    for (int code = 0; code < 256; ++code) {
      const bool is_valid = code < code_count(dtype);
      EXPECT_EQ(is_element(dtype, static_cast<uint8_t>(code)), is_valid);
      if (!is_valid) continue;
      const double want = quantized_by_definition(dtype, code);
      const double got = static_cast<double>(decode_quantized(dtype, static_cast<uint8_t>(code)));
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << name(dtype) << " " << code;
        continue;
      }
      EXPECT_EQ(std::bit_cast<uint64_t>(got), std::bit_cast<uint64_t>(want)) << name(dtype) << " " << code;
      EXPECT_EQ(encode_quantized(dtype, want), code) << name(dtype) << " " << want;
    }
  }
}

TEST(Dtype, LimitsAreThoseOfTheCodes) {
  for (const Dtype dtype : kQuantizedDtypes) {
    const std::vector<double> numbers = numbers_of(dtype);
    EXPECT_EQ(numbers.front(), info(dtype).lowest) << name(dtype);
    EXPECT_EQ(numbers.back(), max_finite(dtype)) << name(dtype);
  }
}

// Of x between the smallest and the largest number, by search. Among two at the same distance, the one whose
// code is even; of f8e8m0 and of integers, these are the larger power of two and the even integer.
double nearest_number(Dtype dtype, const std::vector<double>& numbers, double x, Rounding rounding) {
  const auto above = std::lower_bound(numbers.begin(), numbers.end(), x);
  if (*above == x || above == numbers.begin()) return *above;
  const double hi = *above, lo = *(above - 1);
  if (rounding == Rounding::up) return hi;
  if (rounding == Rounding::down) return lo;
  if (x - lo != hi - x) return x - lo < hi - x ? lo : hi;
  if (dtype == Dtype::f8e8m0) return hi;
  return encode_quantized(dtype, hi) % 2 == 0 ? hi : lo;
}

TEST(Dtype, QuantizedNumbersAreThoseFoundBySearchAtEveryTieAndBesideIt) {
  for (const Dtype dtype : kQuantizedDtypes) {
    const std::vector<double> numbers = numbers_of(dtype);
    for (size_t i = 0; i + 1 < numbers.size(); ++i) {
      const double lo = numbers[i], hi = numbers[i + 1], tie = lo + (hi - lo) / 2;
      for (const double middle : {lo, tie, hi}) {
        for (const double x :
             {std::nextafter(middle, -kInfinity), middle, std::nextafter(middle, kInfinity)}) {
          if (x < numbers.front() || x > numbers.back()) continue;
          for (const Rounding rounding : {Rounding::nearest, Rounding::down, Rounding::up}) {
            const double got = RoundTo{dtype, Overflow::special, rounding}(x);
            ASSERT_EQ(got, nearest_number(dtype, numbers, x, rounding)) << name(dtype) << " " << x;
          }
        }
      }
    }
  }
}

struct Beyond {
  Dtype dtype;
  double last, first;  // the largest number that is rounded to the largest finite one, and the next one
  double special;      // what becomes of that
};
const Beyond kBeyond[] = {
    {Dtype::f8e4m3, 464, std::nextafter(464, 500), std::numeric_limits<double>::quiet_NaN()},
    {Dtype::f8e5m2, std::nextafter(61440, 0), 61440, kInfinity},
    {Dtype::f8e8m0, std::nextafter(0x1.8p127, 0), 0x1.8p127, std::numeric_limits<double>::quiet_NaN()},
    {Dtype::f4e2m1, 1e30, kInfinity, 6},
    {Dtype::s8, 1e30, kInfinity, 127},
    {Dtype::s4, 1e30, kInfinity, 7},
};

TEST(Dtype, BeyondTheLargestNumber) {
  for (const Beyond& one : kBeyond) {
    const double largest = max_finite(one.dtype);
    EXPECT_EQ(round_to(one.dtype, one.last), largest) << name(one.dtype);
    for (const double x : {one.first, kInfinity}) {
      const double got = round_to(one.dtype, x);
      EXPECT_TRUE(got == one.special || (std::isnan(got) && std::isnan(one.special))) << name(one.dtype);
      EXPECT_EQ((RoundTo{one.dtype, Overflow::saturate}(x)), largest) << name(one.dtype);
      if (one.dtype == Dtype::f8e8m0) continue;
      EXPECT_EQ((RoundTo{one.dtype, Overflow::saturate}(-x)), info(one.dtype).lowest) << name(one.dtype);
    }
  }
  EXPECT_TRUE(std::isnan(round_to(Dtype::f8e5m2, std::numeric_limits<double>::quiet_NaN())));
  EXPECT_EQ(round_to(Dtype::f8e8m0, 0), 0x1p-127);
}

TEST(Dtype, RoundToOddKeepsWhatASecondRoundingNeeds) {
  for (uint64_t i = 0; i < 100000; ++i) {
    const PhiloxBlock draw = philox(9, 0, i);
    const auto x = std::bit_cast<double>(uint64_t{draw[1]} << 32 | draw[0]);
    if (!(std::fabs(x) < 3e38)) continue;
    const float odd = f64_to_f32_odd(x);
    const double back = static_cast<double>(odd);
    if (back == x) continue;
    ASSERT_EQ(std::bit_cast<uint32_t>(odd) & 1u, 1u) << x;
    ASSERT_LT(static_cast<double>(std::nextafter(odd, -3e38f)), x);  // one of the two neighbours of x in f32
    ASSERT_GT(static_cast<double>(std::nextafter(odd, 3e38f)), x);
  }
}

}  // namespace
}  // namespace fusesmith::graph
