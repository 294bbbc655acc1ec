// How intervals are rounded when they are stored, and what an inner value looks like to its readers.
#include "oracle/bounded.h"

#include <gtest/gtest.h>

#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

Bounded scalar(Dtype dtype, double v, double e) {
  Bounded b(TensorType{dtype, {1}});
  b.set(0, v, e);
  return b;
}

TEST(StoredInterval, IsTheRoundedInterval) {
  const Interval exact = stored_interval(Dtype::bf16, true, 1.0 + 0x1p-9, 0);
  EXPECT_EQ(exact.lo, 1);
  EXPECT_EQ(exact.hi, 1);
  const Interval boundary =
      stored_interval(Dtype::bf16, true, 1.0 + 0x1p-8, 1e-6);  // the middle between 1 and 1 + 2^-7
  EXPECT_EQ(boundary.lo, 1);
  EXPECT_EQ(boundary.hi, 1 + 0x1p-7);
  const Interval away = stored_interval(Dtype::bf16, true, 1.0 + 0x1.2p-8, 1e-6);
  EXPECT_EQ(away.lo, away.hi);
}

// A real number next to a 16-bit boundary may be rounded onto it in f32 first; a moved value never passes
// through f32.
TEST(StoredInterval, AllowsTheRoundingThroughF32) {
  const double v = 1.0 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(stored_interval(Dtype::bf16, true, v, 0).lo, 1);
  EXPECT_EQ(stored_interval(Dtype::bf16, true, v, 0).hi, 1 + 0x1p-7);
  EXPECT_EQ(stored_interval(Dtype::bf16, false, v, 0).lo, 1 + 0x1p-7);
  EXPECT_EQ(store(Dtype::bf16, static_cast<float>(v)), 1);
}

TEST(StoredInterval, Specials) {
  for (Dtype dtype : kFloatDtypes) {
    const Interval nan = stored_interval(dtype, true, kNan, 0),
                   infinite = stored_interval(dtype, true, -kInf, 0);
    EXPECT_TRUE(std::isnan(nan.lo) && std::isnan(nan.hi));
    EXPECT_EQ(infinite.lo, -kInf);
    EXPECT_EQ(infinite.hi, -kInf);
    const Interval edge = stored_interval(dtype, true, max_finite(dtype), 0.01 * max_finite(dtype));
    EXPECT_TRUE(std::isfinite(edge.lo));
    EXPECT_EQ(edge.hi, kInf);
  }
}

// Any value of the interval, rounded to the inner dtype, lies in what readers see; and only those do.
TEST(PassOn, RoundingAnIntervalContainsEveryRoundedValue) {
  Rng rng(1);
  for (Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    for (int trial = 0; trial < 4000; ++trial) {
      const double v = rng.normal() * std::exp2(rng.uniform(-18, 8)),
                   e = std::fabs(v) * std::exp2(rng.uniform(-26, -2));
      Bounded b = scalar(dtype, v, e);
      pass_on(b, true, true, 0);
      for (double side : {-1.0, -0.7, 0.0, 0.4, 1.0}) {
        const double rounded = store(dtype, static_cast<float>(v + side * e));
        EXPECT_LE(std::fabs(rounded - b.v[0]), b.error(0)) << v << " +- " << e;
      }
      EXPECT_EQ(b.v[0], round_to(dtype, v));
      EXPECT_LE(b.error(0), (e + kU * (std::fabs(v) + e)) + 2 * half_ulp(dtype, v) * 2);
    }
  }
}

TEST(PassOn, KeptInF32) {
  Bounded exact = scalar(Dtype::bf16, 1 + 0x1p-20, 0);
  pass_on(exact, true, false, 0);
  EXPECT_EQ(exact.v[0], 1 + 0x1p-20);
  EXPECT_EQ(exact.error(0), 0);
  Bounded inexact = scalar(Dtype::bf16, 1.0 / 3, 0);
  pass_on(inexact, true, false, 0);
  EXPECT_EQ(inexact.v[0], 1.0 / 3);
  EXPECT_GE(inexact.error(0), std::fabs(static_cast<double>(static_cast<float>(1.0 / 3)) - 1.0 / 3));
  EXPECT_LE(inexact.error(0), 1.01 * kU / 3);
}

TEST(PassOn, MovedValuesAreUntouched) {
  Bounded moved = scalar(Dtype::f32, 1.0 / 3, 0.25);
  pass_on(moved, false, true, 0);
  EXPECT_EQ(moved.v[0], 1.0 / 3);
  EXPECT_EQ(moved.error(0), 0.25);
}

TEST(PassOn, RelativeErrorsAreAdded) {
  Bounded value = scalar(Dtype::f32, -4, 0.5);
  pass_on(value, false, false, 0x1p-8);
  EXPECT_GE(value.error(0), 0.5 + 4.5 * 0x1p-8);
  EXPECT_LE(value.error(0), 0.51 + 4.5 * 0x1p-8);
  for (double exact : {0.0, 1.0, 0.25}) {  // an exact zero or power of two rounds nowhere
    Bounded value2 = scalar(Dtype::f32, exact, 0);
    pass_on(value2, true, false, 0x1p-11, 0x1p-25);
    EXPECT_EQ(value2.error(0), 0);
  }
  Bounded tiny = scalar(Dtype::f32, 0x1.8p-60, 0);
  pass_on(tiny, true, false, 0x1p-11, 0x1p-25);
  EXPECT_GE(tiny.error(0), 0x1p-25);
  EXPECT_LE(tiny.error(0), 1.01 * 0x1p-25);
}

TEST(PassOn, Saturation) {
  Bounded over = scalar(Dtype::f16, 70000, 1);
  pass_on(over, true, true, 0);
  EXPECT_EQ(over.v[0], kInf);
  EXPECT_EQ(over.error(0), 0);
  Bounded kept = scalar(Dtype::f16, 70000, 1);  // without its rounding it is an ordinary f32
  pass_on(kept, true, false, 0);
  EXPECT_EQ(kept.v[0], 70000);
  Bounded edge = scalar(Dtype::f16, 65510, 100);  // may become infinite
  pass_on(edge, true, true, 0);
  EXPECT_EQ(edge.error(0), kInf);
  Bounded beyond = scalar(Dtype::f32, -4e38, 1e30);
  pass_on(beyond, true, true, 0);
  EXPECT_EQ(beyond.v[0], -kInf);
  EXPECT_EQ(beyond.error(0), 0);
  Bounded maybe = scalar(Dtype::f32, 3.4e38, 1e37);
  pass_on(maybe, true, true, 0);
  EXPECT_EQ(maybe.error(0), kInf);
}

// The least f32, as a mask, plus a score: less than half an ulp beyond it is rounded back to it.
TEST(PassOn, WhatRoundsToTheLargestIsFinite) {
  const double largest = max_finite(Dtype::f32), ulp = largest * kU * 2;
  Bounded hidden = scalar(Dtype::f32, -largest - 100, 1e-3);
  pass_on(hidden, true, true, 0);
  EXPECT_LE(hidden.error(0), ulp);
  Bounded edge = scalar(Dtype::f32, -largest - 0.45 * ulp, 0.1 * ulp);  // may reach the half
  pass_on(edge, true, true, 0);
  EXPECT_EQ(edge.error(0), kInf);
}

TEST(PassOn, SpecialsStay) {
  for (double special : {kNan, kInf, -kInf}) {
    for (bool rounded : {false, true}) {
      Bounded b = scalar(Dtype::bf16, special, 0);
      pass_on(b, true, rounded, 0.1);
      EXPECT_TRUE(std::isnan(special) ? std::isnan(b.v[0]) : b.v[0] == special);
      EXPECT_EQ(b.error(0), 0);
    }
  }
  Bounded unknown = scalar(Dtype::bf16, 1, kInf);
  pass_on(unknown, true, true, 0);
  EXPECT_EQ(unknown.error(0), kInf);
}

}  // namespace
}  // namespace fusesmith::oracle
