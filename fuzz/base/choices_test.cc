#include "fuzz/base/choices.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

namespace fusesmith::fuzz {
namespace {

TEST(Choices, AreAFunctionOfSeedShardAndCounter) {
  const auto draw = [](uint64_t seed, uint64_t shard, uint64_t counter) {
    Choices choices(seed, shard, counter);
    std::vector<int64_t> drawn;
    for (int i = 0; i < 20; ++i) drawn.push_back(choices.below(1000000));
    return drawn;
  };
  EXPECT_EQ(draw(1, 2, 3), draw(1, 2, 3));
  EXPECT_NE(draw(1, 2, 3), draw(2, 2, 3));
  EXPECT_NE(draw(1, 2, 3), draw(1, 3, 3));
  EXPECT_NE(draw(1, 2, 3), draw(1, 2, 4));
}

TEST(Choices, GoldenDraws) {
  Choices choices(42, 0, 7);
  std::vector<int64_t> drawn;
  for (int64_t n : {10, 1000, 1 << 20}) drawn.push_back(choices.below(n));
  EXPECT_EQ(drawn, (std::vector<int64_t>{9, 492, 546179}));
}

TEST(Choices, BelowIsUniformAndBetweenIncludesBothEnds) {
  Choices choices(1, 0, 0);
  std::map<int64_t, int> counts;
  for (int i = 0; i < 7000; ++i) ++counts[choices.between(-3, 3)];
  ASSERT_EQ(counts.size(), 7u);
  EXPECT_EQ(counts.begin()->first, -3);
  for (const auto& [value, count] : counts) EXPECT_NEAR(count, 1000, 150) << value;
  EXPECT_EQ(choices.below(1), 0);
}

TEST(Choices, FlipAndWeightedKeepTheirChances) {
  Choices choices(1, 0, 1);
  static constexpr std::array weights = {1, 0, 3};
  int heads = 0;
  std::array<int, 3> counts{};
  for (int i = 0; i < 8000; ++i) {
    heads += choices.flip(0.25);
    ++counts[choices.weighted(weights)];
  }
  EXPECT_NEAR(heads, 2000, 200);
  EXPECT_NEAR(counts[0], 2000, 200);
  EXPECT_EQ(counts[1], 0);
  EXPECT_FALSE(choices.flip(0));
  EXPECT_TRUE(choices.flip(1));
}

TEST(Choices, BytesAreReadInOrderAndThenEveryChoiceIsTheFirst) {
  static constexpr std::array<uint8_t, 4> bytes = {7, 0x34, 0x12, 255};
  Choices choices{std::span<const uint8_t>(bytes)};
  EXPECT_EQ(choices.below(5), 7 % 5);
  EXPECT_EQ(choices.below(65536), 0x1234);
  EXPECT_TRUE(choices.flip(0.5));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(choices.below(1000), 0);
    EXPECT_FALSE(choices.flip(0.9));
    EXPECT_EQ(choices.pick({3, 4, 5}), 3);
  }
}

}  // namespace
}  // namespace fusesmith::fuzz
