// The blocks of pass_on against its elements one by one.
#include "oracle/bounded_block.h"

#include <gtest/gtest.h>

#include <array>

#include "oracle/drawn_values.h"

namespace fusesmith::oracle {
namespace {

using namespace drawn_values;

class BoundedBlocks : public testing::TestWithParam<std::tuple<Dtype, bool>> {};

// What pass_on makes of one element: fewer elements than a block are passed on one by one.
std::pair<double, double> one_by_one(Dtype dtype, bool rounded, double v, double e) {
  Bounded one(TensorType{dtype, {1}});
  one.set(0, v, e);
  pass_on(one, true, rounded, 0);
  return {one.v[0], one.error(0)};
}

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

TEST_P(BoundedBlocks, AreWhatTheirElementsAre) {
  const auto [dtype, rounded] = GetParam();
  std::mt19937 random(11);
  size_t in_blocks = 0, rounds = 0;
  for (int round = 0; round < 3000; ++round) {
    std::array<double, kBoundedBlock> v, e;
    for (size_t i = 0; i < kBoundedBlock; ++i) {
      do {
        v[i] = draw_exact(random, dtype);
        e[i] = std::isfinite(v[i]) ? draw_error(random, v[i]) : 0;
      } while (round % 4 != 0 && !(std::fabs(v[i]) + e[i] < 1000));  // most blocks are ordinary
    }
    const auto given_v = v, given_e = e;
    const bool done = pass_on_block(dtype, rounded, v.data(), e.data());
    in_blocks += done;
    for (size_t i = 0; i < kBoundedBlock; ++i) {
      if (!done) {
        ASSERT_TRUE(same(v[i], given_v[i]) && same(e[i], given_e[i]));
        continue;
      }
      const auto [wanted_v, wanted_e] = one_by_one(dtype, rounded, given_v[i], given_e[i]);
      ASSERT_TRUE(same(v[i], wanted_v)) << v[i] << " for " << given_v[i] << ", " << given_e[i];
      ASSERT_EQ(e[i], wanted_e) << "for " << given_v[i] << ", " << given_e[i];
      rounds += wanted_v != given_v[i];
    }
  }
  EXPECT_GT(in_blocks, 2000U);
  EXPECT_EQ(rounds > 10000, rounded && is_narrow(dtype));
}

// A tensor with ordinary and special elements, longer than a block.
TEST_P(BoundedBlocks, OfWholeTensors) {
  const auto [dtype, rounded] = GetParam();
  std::mt19937 random(12);
  for (int round = 0; round < 300; ++round) {
    Bounded whole(TensorType{dtype, {static_cast<int64_t>(3 * kBoundedBlock + 5)}});
    for (size_t i = 0; i < whole.v.size(); ++i) {
      const double v = i / kBoundedBlock == 1 ? draw_exact(random, dtype) : std::ldexp(1, round % 30 - 15);
      whole.set(i, v, round % 2 == 0 || !std::isfinite(v) ? 0 : draw_error(random, v));
    }
    const Bounded given = whole;
    pass_on(whole, true, rounded, 0);
    bool any = false;
    for (size_t i = 0; i < whole.v.size(); ++i) {
      const auto [v, e] = one_by_one(dtype, rounded, given.v[i], given.error(i));
      ASSERT_TRUE(same(whole.v[i], v) && same(whole.error(i), e)) << given.v[i] << ", " << given.error(i);
      any |= e != 0;
    }
    EXPECT_EQ(whole.exact(), !any);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, BoundedBlocks,
                         testing::Combine(testing::ValuesIn(kFloatDtypes), testing::Bool()));

}  // namespace
}  // namespace fusesmith::oracle
