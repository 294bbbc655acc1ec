#include "minimizer/data_variants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "minimizer/edit.h"
#include "minimizer/sample_cases.h"

namespace fusesmith::minimizer {
namespace {

using testing::Each;
using testing::Not;

Case relu_with(int64_t size, Fill fill) {
  Builder b;
  b.output(b.node(Relu{}, {b.input("x", {Dtype::f32, {size}}, std::move(fill))}, "y"));
  return case_of(b);
}

std::vector<double> data_with(const Case& test_case, const Case& origin, DataKind kind, uint64_t draw) {
  return to_f64(make_inputs(with_data(test_case, origin, kind, draw))[0]);
}

TEST(DataVariants, DrawsDifferAndAreRepeatable) {
  const Case origin = relu_with(16, Normal{3, 1});
  for (const DataKind kind :
       {DataKind::alike, DataKind::normal, DataKind::small, DataKind::resampled, DataKind::near}) {
    EXPECT_EQ(data_with(origin, origin, kind, 2), data_with(origin, origin, kind, 2));
    EXPECT_NE(data_with(origin, origin, kind, 2), data_with(origin, origin, kind, 3));
  }
}

// A size that crops the NaN off a literal still gets it.
TEST(DataVariants, CroppedLiteralsKeepTheirSpecialValues) {
  Tensor tensor({Dtype::f32, {13}});
  for (int64_t i = 0; i < 13; ++i) tensor.set(i, i == 12 ? std::nan("") : 0.5);
  const Case origin = relu_with(13, literal_of(tensor));
  const Case cropped = *apply_edit(origin, Resize{"x", 0, 6});
  int with_nan = 0;
  for (uint64_t draw = 1; draw <= 10; ++draw) {
    for (const double value : data_with(cropped, origin, DataKind::resampled, draw)) {
      EXPECT_TRUE(std::isnan(value) || value == 0.5);
      with_nan += std::isnan(value);
    }
  }
  EXPECT_GE(with_nan, 10);
}

TEST(DataVariants, NearDataHasTheSignsZerosAndSizesOfTheCase) {
  Tensor tensor({Dtype::f32, {4}});
  for (int64_t i = 0; i < 4; ++i)
    tensor.set(i, std::vector<double>{0, -2, 1e9, INFINITY}[static_cast<size_t>(i)]);
  const Case origin = relu_with(4, literal_of(tensor));
  const auto near = data_with(origin, origin, DataKind::near, 1);
  EXPECT_EQ(near[0], 0);
  EXPECT_NEAR(near[1], -2, 0.126);
  EXPECT_NEAR(near[2], 1e9, 7e7);
  EXPECT_EQ(near[3], INFINITY);
}

TEST(DataVariants, ConstantsVary) {
  const Case origin = relu_with(64, Constant{-3});
  const auto alike = data_with(origin, origin, DataKind::alike, 1);
  EXPECT_THAT(alike, Each(testing::Lt(0)));
  EXPECT_THAT(alike, Not(Each(alike[0])));
}

}  // namespace
}  // namespace fusesmith::minimizer
