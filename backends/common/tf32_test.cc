#include "backends/common/tf32.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/philox.h"

namespace fusesmith::backends {
namespace {

float with_bits(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }

// 10 bits after the leading one, and no other such number is nearer.
TEST(Tf32, IsTheNearestWithTenBits) {
  for (uint64_t i = 0; i < 20000; ++i) {
    const float x = with_bits(philox(1, 0, i)[0]);
    const float y = to_tf32(x);
    if (!std::isfinite(x)) {
      EXPECT_EQ(bits_of(y), bits_of(x));
      continue;
    }
    ASSERT_EQ(bits_of(y) & 0x1fffu, 0u);
    const float step = with_bits(bits_of(y) + 0x2000u);
    if (!std::isfinite(step)) continue;
    const double spacing = std::fabs(static_cast<double>(step) - static_cast<double>(y));
    EXPECT_LE(std::fabs(static_cast<double>(x) - static_cast<double>(y)), spacing / 2) << x;
  }
}

TEST(Tf32, TiesGoAwayFromZero) {
  EXPECT_EQ(to_tf32(1 + 0x1p-11f), 1 + 0x1p-10f);
  EXPECT_EQ(to_tf32(-1 - 0x1p-11f), -1 - 0x1p-10f);
  EXPECT_EQ(to_tf32(1 + 0x1p-11f - 0x1p-23f), 1.0f);
}

TEST(Tf32, NothingFiniteBecomesInfinite) {
  EXPECT_EQ(to_tf32(std::numeric_limits<float>::max()), 0x1.ffcp127f);
  EXPECT_EQ(to_tf32(std::numeric_limits<float>::lowest()), -0x1.ffcp127f);
  EXPECT_EQ(bits_of(to_tf32(-0.0f)), bits_of(-0.0f));
}

TEST(Tf32, SixteenBitValuesStay) {
  for (uint32_t pattern = 0; pattern < 0x10000u; ++pattern) {
    const float bf16 = with_bits(pattern << 16);
    EXPECT_EQ(bits_of(to_tf32(bf16)), bits_of(bf16));
  }
  EXPECT_FALSE(reads_tf32(F32Products::tf32, Dtype::f16));
  EXPECT_FALSE(reads_tf32(F32Products::ieee, Dtype::f32));
  EXPECT_TRUE(reads_tf32(F32Products::tf32, Dtype::f32));
}

}  // namespace
}  // namespace fusesmith::backends
