#include "graph/philox.h"

#include <gtest/gtest.h>

namespace fusesmith::graph {
namespace {

// The known answers that come with Random123 (kat_vectors, philox4x32-10).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox(0, 0, 0), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  // Counter 243f6a88 85a308d3 13198a2e 03707344, key a4093822 299f31d0: digits of pi.
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, LanesAreTheSameBlocks) {
  // The second start carries from the low word of the counter into the high one.
  for (const uint64_t start : {uint64_t{0}, uint64_t{0xfffffffa}, ~uint64_t{0} - 3}) {
    PhiloxLanes lanes;
    philox_lanes(0x123456789abcdef0, 42, start, lanes);
    for (size_t i = 0; i < kPhiloxLanes; ++i) {
      const PhiloxBlock lane = {lanes[0][i], lanes[1][i], lanes[2][i], lanes[3][i]};
      EXPECT_EQ(lane, philox(0x123456789abcdef0, 42, start + i)) << start << " + " << i;
    }
  }
}

TEST(Philox, HashOfNames) {
  EXPECT_EQ(hash_name(""), 0xcbf29ce484222325u);  // the published FNV-1a values
  EXPECT_EQ(hash_name("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hash_name("foobar"), 0x85944171f73967e8u);
}

}  // namespace
}  // namespace fusesmith::graph
