// The blocks of a comparison against what they stand for: the functions of oracle/bounded.h, one element at a
// time.
#include "oracle/compare_block.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracle/bounded.h"
#include "oracle/drawn_values.h"

namespace fusesmith::oracle {
namespace {

using namespace drawn_values;

double draw_stored(std::mt19937& random, Dtype dtype, double v) {
  std::uniform_int_distribution<int> kind(0, 7);
  const int drawn = kind(random);
  if (drawn == 0) return round_to(dtype, std::nextafter(round_to(dtype, v), kInfinity) * 1.01);
  if (drawn == 1) return -round_to(dtype, v);
  if (drawn == 2) return round_to(dtype, draw_exact(random, dtype));
  return round_to(dtype, v);
}

class CompareBlocks : public testing::TestWithParam<std::tuple<Dtype, bool, bool>> {};

TEST_P(CompareBlocks, PlainElementsNeedNoLook) {
  const auto [dtype, computed, signed_zeros] = GetParam();
  std::mt19937 random(7);
  CompareBlock block;
  block.dtype = dtype;
  block.computed = computed;
  block.signed_zeros = signed_zeros;
  constexpr size_t n = CompareBlock::kSize;
  size_t plain = 0, nearest = 0;
  for (int round = 0; round < 2000; ++round) {
    std::array<double, n> got, v, e;
    for (size_t i = 0; i < n; ++i) {
      v[i] = draw_exact(random, dtype);
      e[i] = std::isfinite(v[i]) ? draw_error(random, v[i]) : 0;
      got[i] = draw_stored(random, dtype, v[i]);
    }
    const double largest = round % 3 == 0 ? 0 : round % 3 == 1 ? 0.25 : 1;
    const bool all = block.look(got.data(), v.data(), e.data(), largest);
    EXPECT_EQ(all, std::count(block.plain.begin(), block.plain.end(), 1) == static_cast<int64_t>(n));
    for (size_t i = 0; i < n; ++i) {
      const bool is_nearest = std::isfinite(got[i]) && got[i] == round_to(dtype, v[i]);
      const double share = std::fabs(got[i] - v[i]) /
                           (error_before_store(dtype, computed, v[i], e[i]) + half_ulp(dtype, v[i]));
      nearest += is_nearest;
      if (!block.plain[i]) continue;
      ++plain;
      ASSERT_TRUE(is_nearest) << got[i] << " for " << v[i];
      const Interval lawful = stored_interval(dtype, computed, v[i], e[i]);
      ASSERT_TRUE(lawful.lo <= got[i] && got[i] <= lawful.hi) << got[i] << " for " << v[i] << ", " << e[i];
      ASSERT_FALSE(is_loose_alone(v[i], e[i]));
      ASSERT_FALSE(signed_zeros && v[i] == 0);
      ASSERT_EQ(block.share[i], e[i] == 0 ? 0 : share) << got[i] << " for " << v[i] << ", " << e[i];
      ASSERT_LE(block.share[i], largest);
    }
  }
  EXPECT_GT(plain, nearest / 4) << "most elements should need no look";
}

INSTANTIATE_TEST_SUITE_P(Kinds, CompareBlocks,
                         testing::Combine(testing::ValuesIn(kFloatDtypes), testing::Bool(), testing::Bool()));

}  // namespace
}  // namespace fusesmith::oracle
