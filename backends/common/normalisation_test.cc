// softmax and layer_norm where values are exceptional or exact.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backends/common/run_node.h"

namespace fusesmith::backends {
namespace {

constexpr float kNormalisationInf = std::numeric_limits<float>::infinity();
const float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> run_one(const Op& op, Shape shape, const std::vector<float>& values,
                           Dtype dtype = Dtype::f32) {
  const Tensor x = from_f32(values, {dtype, std::move(shape)});
  const Tensor* inputs[] = {&x};
  return to_f32(run_node(op, inputs, {&x.type, 1}).front());
}

void expect_all_nan(const std::vector<float>& row) {
  for (float x : row) EXPECT_TRUE(std::isnan(x));
}

TEST(Softmax, RowWithoutAFiniteMaximumIsNan) {
  expect_all_nan(run_one(Softmax{}, {3}, {-kNormalisationInf, -kNormalisationInf, -kNormalisationInf}));
  expect_all_nan(run_one(Softmax{}, {3}, {1, kNaN, 2}));
  expect_all_nan(run_one(Softmax{}, {3}, {kNaN, -kNormalisationInf, -kNormalisationInf}));
  expect_all_nan(run_one(Softmax{}, {3}, {1, kNormalisationInf, -kNormalisationInf}));
  expect_all_nan(run_one(Softmax{}, {1}, {-kNormalisationInf}));
}

TEST(Softmax, HiddenElementsAreZeroAndRowsAreAlone) {
  const std::vector<float> y =
      run_one(Softmax{0}, {2, 3}, {-kNormalisationInf, kNaN, 5, 3, 1, 5});  // columns are rows here
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[3], 1);
  EXPECT_TRUE(std::isnan(y[1]) && std::isnan(y[4]));
  EXPECT_EQ(y[2], 0.5f);
  EXPECT_EQ(y[5], 0.5f);
}

// Exact data: 2^k equal entries, the rest at least 104 below or hidden.
TEST(Softmax, IsExactOnPowersOfTwoOfEqualEntries) {
  for (Dtype dtype : kFloatDtypes) {
    for (size_t ones = 1; ones <= 64; ones *= 2) {
      std::vector<float> x(100, -kNormalisationInf);
      for (size_t i = 0; i < ones; ++i) x[i + 3] = 7;
      x[99] = -112;
      const std::vector<float> y = run_one(Softmax{}, {100}, x, dtype);
      for (size_t i = 0; i < 100; ++i) EXPECT_EQ(y[i], x[i] == 7 ? 1 / static_cast<float>(ones) : 0) << i;
    }
  }
}

TEST(Softmax, LargeValuesDoNotOverflow) {
  const std::vector<float> y = run_one(Softmax{}, {2}, {3e38f, 3e38f});
  EXPECT_EQ(y[0], 0.5f);
}

// n = 2^j and x = mean +- m with even counts: mean, variance and differences are exact; eps does not count
// beside 2^30.
TEST(LayerNorm, IsExactOnBalancedRows) {
  std::vector<float> x;
  for (int i = 0; i < 64; ++i) x.push_back(4096.0f + (i % 2 ? 32768.0f : -32768.0f));
  const std::vector<float> y = run_one(LayerNorm{}, {64}, x);
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(y[i], i % 2 ? 1 : -1);
}

TEST(LayerNorm, ConstantRowIsZero) {
  for (float x : run_one(LayerNorm{}, {2, 8}, std::vector<float>(16, 1234.5f))) EXPECT_EQ(x, 0);
}

TEST(LayerNorm, NanStaysInItsRow) {
  const std::vector<float> y = run_one(LayerNorm{}, {2, 4}, {1, kNaN, 2, 3, 1, 2, 3, 4});
  expect_all_nan({y.begin(), y.begin() + 4});
  for (size_t i = 4; i < 8; ++i) EXPECT_TRUE(std::isfinite(y[i]));
}

// Squared differences from the mean, not E[x^2] - E[x]^2: a large mean costs nothing.
TEST(LayerNorm, LargeMeanKeepsTheVariance) {
  const std::vector<float> y = run_one(LayerNorm{1e-12}, {4}, {1e6f, 1e6f + 1, 1e6f + 2, 1e6f + 3});
  EXPECT_NEAR(y[0], -1.5 / std::sqrt(1.25), 1e-6);
  EXPECT_NEAR(y[3], 1.5 / std::sqrt(1.25), 1e-6);
}

}  // namespace
}  // namespace fusesmith::backends
