#include "fuzz/supervisor/devices.h"

#include <gtest/gtest.h>

#include <set>

namespace fusesmith::fuzz {
namespace {

const std::vector<Gpu> kTwo = {{"GPU-a", "one"}, {"GPU-b", "two"}};

TEST(Devices, TakeTurnsAndAvoidOne) {
  Devices devices(kTwo);
  EXPECT_NE(devices.next({}), devices.next({}));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(devices.next(0), 1U);
  devices.quarantine(1, "broken");
  EXPECT_EQ(devices.next(0), 0U) << "there is no other";
  devices.quarantine(0, "broken too");
  EXPECT_EQ(devices.next({}), std::nullopt);
  EXPECT_EQ(devices.usable(), 0U);
  EXPECT_EQ(devices.why_none(), "no GPU is left: GPU-a: broken too; GPU-b: broken");
}

TEST(Devices, ThreeInnocentFailuresInARowEndInQuarantine) {
  Devices devices(kTwo);
  const auto fail = [&](int times) {
    for (int i = 0; i < times; ++i) devices.add_innocent_failure(1, "it fell off the bus");
  };
  fail(2);
  devices.add_explained_failure(1);
  fail(2);
  EXPECT_TRUE(devices.is_usable(1));
  fail(1);
  EXPECT_FALSE(devices.is_usable(1));
  EXPECT_TRUE(devices.is_usable(0));
  const auto states = devices.states();
  EXPECT_EQ(states[0].quarantined, "");
  EXPECT_NE(states[1].quarantined.find("the last: it fell off the bus"), std::string::npos);
  devices.quarantine(1, "another reason");
  EXPECT_EQ(devices.states()[1].quarantined, states[1].quarantined) << "the first reason stays";
}

TEST(Devices, OneWithoutANameIsNotListed) {
  Devices devices({});
  EXPECT_EQ(devices.size(), 1U);
  EXPECT_FALSE(devices.is_named(0));
  EXPECT_TRUE(devices.states().empty());
  devices.quarantine(0, "no GPU answers");
  EXPECT_EQ(devices.why_none(), "no GPU answers");
}

}  // namespace
}  // namespace fusesmith::fuzz
