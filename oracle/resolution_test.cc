// The resolution of hand-made intervals, and of drawn ones against what it says: which changes are found.
#include "oracle/resolution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "oracle/drawn_values.h"

namespace fusesmith::oracle {
namespace {

using namespace drawn_values;

double of(Dtype dtype, double v, double e, bool computed = false) {
  return resolution_of_element(dtype, computed, v, e);
}

TEST(Resolution, OfAnExactElementIsOneUlp) {
  EXPECT_EQ(of(Dtype::f32, 1, 0), 0x1p-23);
  EXPECT_EQ(of(Dtype::f16, 1, 0), 0x1p-10);
  EXPECT_EQ(of(Dtype::bf16, 1, 0), 0x1p-7);
  EXPECT_EQ(of(Dtype::bf16, -4, 0), 0x1p-7);
  EXPECT_EQ(of(Dtype::bf16, 1.75, 0), 0x1p-7 / 1.75);
  EXPECT_EQ(of(Dtype::f16, 0x1p-20, 0), 0x1p-4) << "subnormal";
}

TEST(Resolution, OfAnIntervalIsItsHalfWidthAndOneUlp) {
  EXPECT_EQ(of(Dtype::f32, 1, 0.25), 0.25 + 0x1p-23);
  EXPECT_EQ(of(Dtype::f16, -2, 0.25), (0.25 + 0x1p-9) / 2);
  EXPECT_EQ(of(Dtype::bf16, 2, 0.25), (0.25 + 0x1p-6) / 2);
  const double stored = error_before_store(Dtype::bf16, true, 2, 0.25);
  EXPECT_GT(stored, 0.25) << "rounded to f32 before";
  EXPECT_EQ(of(Dtype::bf16, 2, 0.25, true), (stored + 0x1p-6) / 2);
}

TEST(Resolution, OfWhatCannotChangeRelativelyIsNone) {
  for (const Dtype dtype : kFloatDtypes) {
    for (const double v : {0.0, -0.0, kInfinity, -kInfinity, kNaN}) EXPECT_LT(of(dtype, v, 0), 0) << v;
    EXPECT_LT(of(dtype, 0x1p-130, 0x1p-126), 0) << "underflows";
    for (const double v : {0.0, 1.0, 0x1p-130, kInfinity, kNaN})
      EXPECT_EQ(of(dtype, v, kInfinity), kInfinity) << v;
    EXPECT_EQ(of(dtype, 0, 0.5), kInfinity) << "0 or 0.5, nobody knows";
  }
  EXPECT_LT(of(Dtype::f16, 1e-9, 1e-9), 0) << "stored as 0, whatever it is";
  EXPECT_LT(of(Dtype::f16, 1e6, 1), 0) << "stored as an infinity, whatever it is";
  EXPECT_EQ(of(Dtype::f16, 1e6, 1e6), kInfinity);
  EXPECT_GT(of(Dtype::f32, 1e-9, 1e-9), 1);
}

class DrawnResolutions : public testing::TestWithParam<std::tuple<Dtype, bool>> {};

// A change above the resolution is found (at the resolution, both may be ties). One that stays before the end
// of the interval is not.
TEST_P(DrawnResolutions, TellWhichChangesAreFound) {
  const auto [dtype, computed] = GetParam();
  std::mt19937 random(11);
  int found = 0;
  for (int i = 0; i < 20'000; ++i) {
    const double v = draw_exact(random, dtype);
    const double e = std::isfinite(v) ? draw_error(random, v) : 0;
    const double resolution = of(dtype, v, e, computed);
    if (resolution < 0 || std::isinf(resolution)) continue;
    const double error = error_before_store(dtype, computed, v, e);
    const Interval lawful = stored_interval(dtype, computed, v, e);
    EXPECT_LE(error, resolution * std::fabs(v));
    for (const double sign : {-1, 1}) {
      const double near = round_to(dtype, v + sign * 0.999 * error);
      EXPECT_TRUE(lawful.lo <= near && near <= lawful.hi) << v << " +- " << e;
    }
    if (resolution > 0.5 || std::fabs(v) < std::ldexp(2, min_exponent(dtype))) continue;
    ++found;
    const double changed = round_to(dtype, v * (1 - resolution * (1 + 0x1p-20)));
    EXPECT_TRUE(changed < lawful.lo || changed > lawful.hi) << v << " +- " << e << ": " << resolution;
  }
  EXPECT_GT(found, 2000);
}

INSTANTIATE_TEST_SUITE_P(Kinds, DrawnResolutions,
                         testing::Combine(testing::ValuesIn(kFloatDtypes), testing::Bool()));

Bounded output(Dtype dtype, const std::vector<std::pair<double, double>>& elements) {
  Bounded bounded(TensorType{dtype, {static_cast<int64_t>(elements.size())}});
  for (size_t i = 0; i < elements.size(); ++i) bounded.set(i, elements[i].first, elements[i].second);
  return bounded;
}

TEST(Resolution, OfAnOutputHasLeastMedianAndWorst) {
  const Resolution some = resolution_of(
      output(Dtype::f32, {{1, 0.5}, {1, 0.125}, {0, 0}, {4, 0.25}, {kNaN, 0}, {1, 0}, {2, 3}}), true);
  EXPECT_EQ(some.elements, 5);
  EXPECT_EQ(some.least, 0x1p-23);
  EXPECT_EQ(some.median, 0.125 + 0x1p-23);
  EXPECT_EQ(some.worst, 1.5 + 0x1p-23);
  EXPECT_EQ(resolution_of(output(Dtype::f32, {{1, 0.5}, {1, kInfinity}}), true).worst, kInfinity);
}

TEST(Resolution, OfExactOrSpecialOutputs) {
  const Resolution exact = resolution_of(output(Dtype::bf16, {{1, 0}, {2, 0}, {-1, 0}}), false);
  EXPECT_EQ(exact.elements, 3);
  EXPECT_EQ(exact.least, 0x1p-7);
  EXPECT_EQ(exact.worst, 0x1p-7);
  for (const Dtype dtype : kFloatDtypes) {
    const Resolution none = resolution_of(output(dtype, {{0, 0}, {kNaN, 0}, {kInfinity, 0}}), true);
    EXPECT_EQ(none.elements, 0);
    EXPECT_EQ(none.median, 0);
    EXPECT_EQ(none.worst, 0);
  }
  EXPECT_EQ(resolution_of(output(Dtype::i32, {{3, 0}}), true).elements, 0);
  EXPECT_EQ(resolution_of(output(Dtype::f32, {}), true).elements, 0);
}

// Least and worst are of all elements, the median of a sample, whatever the number of elements.
TEST(Resolution, OfManyElements) {
  for (const size_t n :
       {size_t{31}, size_t{32}, size_t{33}, size_t{64}, size_t{128}, size_t{1000}, size_t{4096}}) {
    std::vector<std::pair<double, double>> elements(n, {1.0, 0.0});
    for (size_t i = 0; i < n; ++i) elements[i].second = 0x1p-10 * static_cast<double>(1 + i % 64);
    elements[n - 2] = {1, 0};
    elements[n - 1] = {1, 0.75};
    const Resolution many = resolution_of(output(Dtype::f32, elements), true);
    EXPECT_EQ(many.elements, static_cast<int64_t>(n));
    EXPECT_EQ(many.least, 0x1p-23) << n;
    EXPECT_EQ(many.worst, 0.75 + 0x1p-23) << n;
    const double middle = 0x1p-10 * static_cast<double>(std::min<size_t>(n, 64)) / 2;
    EXPECT_NEAR(many.median, middle, 0.4 * middle) << n;
    const Resolution of_sample = resolution_of(output(Dtype::f32, elements), true, ReadElements::sample);
    EXPECT_EQ(of_sample.median, many.median) << n;
    EXPECT_GE(of_sample.least, many.least) << n;
    EXPECT_LE(of_sample.worst, many.worst) << n;
    EXPECT_EQ(of_sample.elements, std::min<int64_t>(static_cast<int64_t>(n), 48));
  }
}

// All in one column of rows of 64: no regular sample may miss them.
TEST(Resolution, OfFewElementsAmongZeros) {
  std::vector<std::pair<double, double>> elements(1 << 14, {0.0, 0.0});
  elements[777] = {1, 0.25};
  const Resolution few = resolution_of(output(Dtype::f32, elements), true);
  EXPECT_EQ(few.elements, 1);
  EXPECT_EQ(few.median, 0.25 + 0x1p-23);
}

TEST(Resolution, OfARegionIsThatOfItsCoarserOutput) {
  Resolution region = resolution_of(output(Dtype::f32, {{1, 0.25}}), true);
  region.add(resolution_of(output(Dtype::f32, {{1, 0.5}, {1, 0}}), true));
  EXPECT_EQ(region.elements, 3);
  EXPECT_EQ(region.least, 0.25 + 0x1p-23);
  EXPECT_EQ(region.worst, 0.5 + 0x1p-23);
}

}  // namespace
}  // namespace fusesmith::oracle
