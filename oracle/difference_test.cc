#include "oracle/difference.h"

#include <gtest/gtest.h>

#include <limits>

namespace fusesmith::oracle {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Difference, CountsUnequalBits) {
  const TensorType type{Dtype::f32, {6}};
  const float a[] = {1, 0.0F, 3, kNan, kInf, kInf};
  const float b[] = {1, -0.0F, 5, 1, kInf, kNan};
  const Difference found = difference(from_f32(a, type), from_f32(b, type));
  EXPECT_EQ(found.elements, 6);
  EXPECT_EQ(found.unequal, 4);
  EXPECT_EQ(found.nonfinite, 2);
  EXPECT_EQ(found.largest, kInf);
  EXPECT_EQ(found.largest_finite, 2);
  Difference sum = found;
  sum += found;
  EXPECT_EQ(sum.nonfinite, 4);
  EXPECT_EQ(sum.largest_finite, 2);
}

}  // namespace
}  // namespace fusesmith::oracle
