#include "minimizer/magnitudes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "minimizer/sample_cases.h"

namespace fusesmith::minimizer {
namespace {

Case square_of(const Fill& fill, Dtype dtype = Dtype::f32) {
  Builder b;
  const ValueId x = b.input("x", {dtype, {4}}, fill), y = b.input("y", {dtype, {4}}, Normal{});
  b.output(b.node(Mul{}, {x, y}, "z"));
  return case_of(b);
}

double magnitude_of_x(const Case& test_case) {
  double largest = 0;
  for (const double value : to_f64(make_inputs(test_case)[0])) largest = std::max(largest, std::fabs(value));
  return largest;
}

Fails where(std::function<bool(double)> fails) {
  return [=](const Case& test_case) -> std::optional<bool> { return fails(magnitude_of_x(test_case)); };
}

TEST(Magnitudes, ALimitIsFoundToFourDigits) {
  const auto rule = find_magnitude(square_of(Constant{1000}), "x", where([](double m) { return m > 88.73; }));
  ASSERT_TRUE(rule.has_value());
  EXPECT_FALSE(rule->hi.has_value());
  EXPECT_GT(*rule->lo, 88.73);
  EXPECT_LT(*rule->lo, 88.73 * (1 + 1.0 / 4096));
  EXPECT_EQ(rule->here, 1000);
  EXPECT_THAT(rule->text(), testing::StartsWith("max |x| >= 88.7"));
}

TEST(Magnitudes, AnUpperLimitAndBoth) {
  const auto small =
      find_magnitude(square_of(Normal{0, 1e-4}), "x", where([](double m) { return m < 0.125; }));
  ASSERT_TRUE(small.has_value());
  EXPECT_THAT(small->text(), testing::StartsWith("max |x| <= 0.125"));
  const auto middle =
      find_magnitude(square_of(Constant{2}), "x", where([](double m) { return m >= 0.5 && m <= 8; }));
  ASSERT_TRUE(middle.has_value());
  EXPECT_THAT(middle->text(), testing::StartsWith("0.5 <= max |x| <= "));
}

TEST(Magnitudes, ValuesOfTheDtypeAreTried) {
  const auto rule =
      find_magnitude(square_of(Constant{1000}, Dtype::bf16), "x", where([](double m) { return m > 88.73; }));
  ASSERT_TRUE(rule.has_value());
  EXPECT_EQ(*rule->lo, 89);  // the next value of bf16; 88.5 passes
}

TEST(Magnitudes, NothingIsSaidWhereTheMagnitudeDoesNotDecide) {
  const auto always = where([](double) { return true; });
  EXPECT_FALSE(find_magnitude(square_of(Constant{1000}), "x", always).has_value());
  const auto this_data_alone = where([](double m) { return m == 1000; });
  EXPECT_FALSE(find_magnitude(square_of(Constant{1000}), "x", this_data_alone).has_value());
  const auto by_turns = where([](double m) { return std::fmod(std::log2(m), 2) >= 1; });
  EXPECT_FALSE(find_magnitude(square_of(Constant{1024}), "x", by_turns).has_value());
  const auto large = where([](double m) { return m > 1; });
  EXPECT_FALSE(find_magnitude(square_of(Constant{0}), "x", large).has_value());
  EXPECT_FALSE(find_magnitude(square_of(Constant{INFINITY}), "x", large).has_value());
  EXPECT_FALSE(find_magnitude(square_of(Constant{8}), "no such input", large).has_value());
}

}  // namespace
}  // namespace fusesmith::minimizer
