#include "minimizer/size_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace fusesmith::minimizer {
namespace {

// What is inferred for a mistake of that kind from the smallest size that fails, a few others, and those
// asked for after them.
std::string rule_of(const std::function<bool(int64_t)>& fails, int64_t largest = 1000) {
  SizeOutcomes outcomes;
  int64_t here = 1;
  while (here < largest && !fails(here)) ++here;
  for (int64_t size = std::max<int64_t>(here - 2, 1); size <= here + 2; ++size) outcomes[size] = fails(size);
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

// A tail that is wrong beyond a limit: multiples of the tile there pass.
TEST(SizeRule, TilesBeyondALimitAreTried) {
  const auto tail = [](int64_t limit, int64_t tile) {
    return rule_of([=](int64_t n) { return n > limit && n % tile != 0; }, 10'000);
  };
  EXPECT_EQ(tail(512, 512), "N mod 512 != 0 and N >= 513");
  EXPECT_EQ(tail(128, 128), "N mod 128 != 0 and N >= 129");
  EXPECT_EQ(tail(256, 32), "N mod 32 != 0 and N >= 257");
  EXPECT_EQ(tail(64, 16), "N mod 16 != 0 and N >= 65");
  EXPECT_EQ(tail(1024, 1024), "N mod 1024 != 0 and N >= 1025");
  EXPECT_EQ(tail(300, 300), "N mod 300 != 0 and N >= 301");
  EXPECT_EQ(tail(0, 256), "N mod 256 != 0");
  EXPECT_EQ(rule_of([](int64_t n) { return n >= 65; }, 10'000), "N >= 65");
  EXPECT_EQ(rule_of([](int64_t n) { return n == 64; }, 10'000), "N == 64");
  EXPECT_EQ(rule_of([](int64_t n) { return n >= 5 && n % 64 == 5; }, 10'000), "");
}

// The limit of a rule with a remainder is exact too: 5 to 8 are tried before "N >= 9".
TEST(SizeRule, NoSizeIsUntriedAtALimit) {
  const SizeOutcomes outcomes = {{5, false},  {9, true},   {16, false}, {17, true},
                                 {24, false}, {32, false}, {33, true},  {35, true}};
  EXPECT_FALSE(infer_rule(outcomes).has_value());
  EXPECT_EQ(rule_of([](int64_t n) { return n % 8 != 0 && n >= 140; }), "N mod 8 != 0 and N >= 140");
}

// 14, 31, 48 and 65 pass by accident, or 3, 12 and 21.
TEST(SizeRule, RemaindersOtherThanZeroNeedMoreSizes) {
  EXPECT_EQ(rule_of([](int64_t n) { return n % 17 != 14; }), "");
  EXPECT_EQ(rule_of([](int64_t n) { return n % 9 != 3; }), "");
  const auto outcomes = [](int64_t last) {
    SizeOutcomes found;
    for (int64_t n = 1; n <= last; ++n) found[n] = n % 4 == 1;
    return found;
  };
  EXPECT_FALSE(infer_rule(outcomes(9)).has_value());
  EXPECT_EQ(infer_rule(outcomes(14))->text(), "N mod 4 == 1");
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
