// Rows of a product against their elements one by one.
#include "oracle/reference/product_row.h"

#include <gtest/gtest.h>

#include <vector>

#include "oracle/drawn_values.h"
#include "oracle/reference/sums.h"

namespace fusesmith::oracle::ref {
namespace {

using namespace drawn_values;

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

TEST(ProductRow, UnitsAreGranularities) {
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    const double x = i < 64 ? std::ldexp(i % 2 ? 1.0 : 3.0, -1074 + i / 2) : draw_exact(random, Dtype::f32);
    const int g = granularity(x);
    EXPECT_EQ(unit_of(x), g == kAnyGranularity ? kAnyUnit : std::ldexp(1.0, g)) << x;
  }
}

struct Drawn {
  std::vector<double> v, s, inputs, bias_v, bias_e, bias_unit, unit;
  std::vector<int64_t> nonzero;
  bool has_bias;
};

double draw_unit(std::mt19937& random) {
  std::uniform_int_distribution<int> exponent(-150, 20), kind(0, 5);
  return kind(random) == 0 ? kAnyUnit : std::ldexp(1.0, exponent(random));
}

// Sums that are 0, near the limit of exact ones, or anything.
Drawn draw_row(std::mt19937& random, size_t n, double row_unit, bool specials) {
  Drawn row;
  std::uniform_int_distribution<int> kind(0, 4), count(0, 3);
  std::uniform_real_distribution<double> share(0, 2);
  row.has_bias = kind(random) < 2;
  for (size_t j = 0; j < n; ++j) {
    double v = draw_exact(random, Dtype::f32);
    while (!specials && !(std::fabs(v) < 1e30)) v = draw_exact(random, Dtype::f32);
    row.unit.push_back(draw_unit(random));
    const double limit = row_unit * row.unit[j] * 0x1p24;
    const double s = kind(random) == 0 && limit < 1e30 ? limit * share(random) : std::fabs(v) * share(random);
    row.v.push_back(v);
    row.s.push_back(kind(random) == 0 ? 0 : s);
    row.inputs.push_back(kind(random) == 0 ? std::ldexp(share(random), -20) : 0);
    const double bias = row.has_bias ? round_to(Dtype::f32, share(random) - 1) : -0.0;
    row.bias_v.push_back(bias);
    row.bias_e.push_back(row.has_bias && kind(random) == 0 ? 0x1p-30 : 0);
    row.bias_unit.push_back(row.has_bias ? unit_of(bias) : kAnyUnit);
    row.nonzero.push_back(count(random));
  }
  return row;
}

TEST(ProductRow, IsWhatItsElementsAre) {
  std::mt19937 random(5);
  constexpr size_t n = 37;
  const SumError error{10 * 0x1p-24, 10 * 0x1p-24 / (1 - 10 * 0x1p-24), 8 * 0x1p-53, 8 * 0x1p-126};
  size_t plain = 0, exact = 0;
  for (int round = 0; round < 3000; ++round) {
    const double row_unit = draw_unit(random);
    const Drawn drawn = draw_row(random, n, row_unit, round % 4 == 0);
    const int64_t row_nonzero = round % 5;
    std::vector<double> v(n), e(n);
    const bool all = bound_row({n, drawn.v.data(), drawn.s.data(), drawn.inputs.data(), drawn.bias_v.data(),
                                drawn.bias_e.data(), drawn.bias_unit.data(), drawn.unit.data(),
                                drawn.nonzero.data(), row_unit, row_nonzero, drawn.has_bias ? -1 : 1},
                               error, v.data(), e.data());
    bool all_plain = true;
    for (size_t j = 0; j < n; ++j) {
      const double value = drawn.has_bias ? drawn.v[j] + drawn.bias_v[j] : drawn.v[j];
      const double s = drawn.s[j] + std::fabs(drawn.bias_v[j]), inputs = drawn.inputs[j] + drawn.bias_e[j];
      all_plain &= std::isfinite(value) && s + inputs < 1e38;
      if (!std::isfinite(value) || !(s + inputs < 1e38)) continue;
      const double unit = std::fmin(row_unit * drawn.unit[j], drawn.bias_unit[j]);
      const bool lone = !drawn.has_bias && std::min(row_nonzero, drawn.nonzero[j]) <= 1;
      const double wanted = product_error(value, s, inputs, error, unit, lone, false);
      ASSERT_TRUE(same(v[j], value));
      ASSERT_EQ(e[j], wanted) << value << ", s " << s << ", inputs " << inputs << ", unit " << unit;
      ++plain;
      exact += wanted == 0;
    }
    ASSERT_EQ(all, all_plain);
  }
  EXPECT_GT(exact, plain / 20);
  EXPECT_LT(exact, plain / 2);
}

TEST(ProductRow, FactsOfLines) {
  std::mt19937 random(6);
  constexpr size_t n = 29;
  const double normal = 0x1p-14;
  for (int round = 0; round < 500; ++round) {
    std::vector<double> x(n), e(n, round % 2), row_magnitude(n), magnitude(n), unit(n, kAnyUnit);
    std::vector<int64_t> nonzero(n), nan(n);
    for (double& element : x) element = draw_exact(random, Dtype::f16);
    const LineFacts row = look_at_row(x.data(), n, normal, row_magnitude.data());
    look_at_columns(x.data(), e.data(), n, normal, magnitude.data(), unit.data(), nonzero.data(), nan.data());
    double least = kAnyUnit;
    int64_t nonzeros = 0, nans = 0;
    for (size_t j = 0; j < n; ++j) {
      const double size = std::fabs(x[j]);
      ASSERT_TRUE(same(magnitude[j], size > 0 && size < normal ? normal : size));
      ASSERT_TRUE(same(magnitude[j], row_magnitude[j]));
      ASSERT_EQ(unit[j], unit_of(x[j]));
      ASSERT_EQ(nonzero[j], x[j] != 0);
      ASSERT_EQ(nan[j], std::isnan(x[j]) && e[j] == 0);
      least = std::fmin(least, unit[j]);
      nonzeros += nonzero[j];
      nans += std::isnan(x[j]);
    }
    EXPECT_EQ(row.unit, least);
    EXPECT_EQ(row.nonzero, nonzeros);
    EXPECT_EQ(row.nan, nans);
  }
}

}  // namespace
}  // namespace fusesmith::oracle::ref
