#include "minimizer/size_rule.h"

#include <gtest/gtest.h>

#include <functional>

namespace fusesmith::minimizer {
namespace {

// What is inferred for a mistake of that kind from a few sizes and those asked for after them.
std::string rule_of(const std::function<bool(int64_t)>& fails, int64_t largest = 1000) {
  SizeOutcomes outcomes;
  for (const int64_t size : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65}) {
    if (size <= largest) outcomes[size] = fails(size);
  }
  for (int round = 0; round < 20; ++round) {
    for (const int64_t size : next_sizes(outcomes)) {
      if (size <= largest) outcomes[size] = fails(size);
    }
  }
  const auto rule = infer_rule(outcomes);
  return rule ? rule->text() : "";
}

TEST(SizeRule, NamesTilesThresholdsAndSingleSizes) {
  EXPECT_EQ(rule_of([](int64_t n) { return n % 16 != 0; }), "N mod 16 != 0");
  EXPECT_EQ(rule_of([](int64_t n) { return n % 24 == 0; }), "N mod 24 == 0");
  EXPECT_EQ(rule_of([](int64_t n) { return n % 2 == 1; }), "N mod 2 != 0");
  EXPECT_EQ(rule_of([](int64_t n) { return n % 4 == 1; }), "N mod 4 == 1");
  EXPECT_EQ(rule_of([](int64_t n) { return n >= 21; }), "N >= 21");
  EXPECT_EQ(rule_of([](int64_t n) { return n < 21; }), "N <= 20");
  EXPECT_EQ(rule_of([](int64_t n) { return n == 17; }), "N == 17");
  EXPECT_EQ(rule_of([](int64_t n) { return n >= 6 && n <= 40; }), "N >= 6 and N <= 40");
  EXPECT_EQ(rule_of([](int64_t n) { return n % 16 != 0 && n > 16; }), "N mod 16 != 0 and N >= 17");
  EXPECT_EQ(rule_of([](int64_t) { return true; }), "always");
}

TEST(SizeRule, SaysNothingWhereNothingFollows) {
  EXPECT_EQ(rule_of([](int64_t) { return false; }), "");
  EXPECT_EQ(rule_of([](int64_t n) { return n == 3 || n == 7 || n == 24 || n == 31; }), "");
  EXPECT_EQ(infer_rule({{16, false}, {17, true}, {18, false}})->text(), "N == 17");  // what was tried says so
  EXPECT_FALSE(infer_rule({{1, false}, {17, true}}).has_value());                    // where does it begin?
}

TEST(SizeRule, EveryRuleAgreesWithItsText) {
  const SizeRule rule{16, 0, true, 17, 100};
  EXPECT_EQ(rule.text(), "N mod 16 != 0 and N >= 17 and N <= 100");
  EXPECT_TRUE(rule.fails(17) && rule.fails(99));
  EXPECT_FALSE(rule.fails(15) || rule.fails(32) || rule.fails(101));
}

}  // namespace
}  // namespace fusesmith::minimizer
