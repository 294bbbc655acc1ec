#include "fuzz/campaign/live_status.h"

#include <gtest/gtest.h>

namespace fusesmith::fuzz {
namespace {

TEST(RecentRate, IsThatOfTheLastHalfMinute) {
  RecentRate rate;
  EXPECT_EQ(rate.add(0, 0), 0);
  EXPECT_EQ(rate.add(10, 100), 10);
  for (int second = 11; second <= 100; ++second) rate.add(second, 100 + (second - 10) * 2);
  EXPECT_NEAR(rate.add(101, 100 + 91 * 2), 2, 1e-9);
}

}  // namespace
}  // namespace fusesmith::fuzz
