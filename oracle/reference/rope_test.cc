// rope: with and without a fused multiply-add in the bound, the other pairing and swapped signs out of it.
#include <gtest/gtest.h>

#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

struct Rotated {
  float first, second;
};

Rotated separate(float a, float b, float c, float s) {
  const float ac = a * c, bs = b * s, bc = b * c, as = a * s;
  return {ac - bs, bc + as};
}
Rotated fused(float a, float b, float c, float s) {
  return {std::fmaf(a, c, -(b * s)), std::fmaf(b, c, a * s)};
}
Rotated fused_other(float a, float b, float c, float s) {
  return {std::fmaf(-b, s, a * c), std::fmaf(a, s, b * c)};
}
Rotated backwards(float a, float b, float c, float s) { return separate(a, b, c, -s); }

TEST(Rope, FusedOrNotIsLawfulAndWrongAnglesAreNot) {
  Rng rng(1);
  constexpr int64_t kRows = 50, kWidth = 8, kHalf = kWidth / 2;
  for (Dtype dtype : kFloatDtypes) {
    const Tensor x = make_tensor({dtype, {kRows, kWidth}}, [&](int64_t) { return rng.normal(); });
    const Tensor cos =
        make_tensor({dtype, {kRows, kHalf}}, [&](int64_t i) { return std::cos(0.3 * double(i)); });
    const Tensor sin =
        make_tensor({dtype, {kRows, kHalf}}, [&](int64_t i) { return std::sin(0.3 * double(i)); });
    for (Rope::Pairing pairing : {Rope::Pairing::half, Rope::Pairing::interleaved}) {
      const Bounded y = evaluate_op(Rope{pairing}, {Bounded(x), Bounded(cos), Bounded(sin)});
      int outside = 0;
      for (int64_t i = 0; i < kRows * kHalf; ++i) {
        const RopePair pair = rope_pair(pairing, i % kHalf, kWidth);
        const int64_t row = i / kHalf * kWidth;
        const auto inside = [&](auto rotate) {
          const auto f = [](double v) { return static_cast<float>(v); };
          const Rotated r = rotate(f(x.value(row + pair.first)), f(x.value(row + pair.second)),
                                   f(cos.value(i)), f(sin.value(i)));
          const auto first = static_cast<size_t>(row + pair.first),
                     second = static_cast<size_t>(row + pair.second);
          return lawful(dtype, y.v[first], y.error(first), store(dtype, r.first)) &&
                 lawful(dtype, y.v[second], y.error(second), store(dtype, r.second));
        };
        EXPECT_TRUE(inside(separate) && inside(fused) && inside(fused_other)) << name(dtype) << " " << i;
        outside += !inside(backwards);
      }
      EXPECT_GT(outside, kRows * kHalf * 9 / 10);
    }
  }
}

TEST(Rope, ExactWhereProductsAre) {
  const Tensor x = make_tensor({Dtype::f32, {4}}, {1, 2, 3, 4}),
               cos = make_tensor({Dtype::f32, {2}}, {0, 0.5}), sin = make_tensor({Dtype::f32, {2}}, {1, -2});
  const Bounded half = evaluate_op(Rope{}, {Bounded(x), Bounded(cos), Bounded(sin)});
  EXPECT_TRUE(half.exact());
  EXPECT_EQ(half.v, (std::vector<double>{-3, 9, 1, -2}));
  const Bounded pairs =
      evaluate_op(Rope{Rope::Pairing::interleaved}, {Bounded(x), Bounded(cos), Bounded(sin)});
  EXPECT_EQ(pairs.v, (std::vector<double>{-2, 1, 9.5, -4}));
}

TEST(Rope, WhatIsNotRotatedStays) {
  const Tensor x = make_tensor({Dtype::f32, {5}}, {1, 2, 3, 0.1, kNan}),
               cos = make_tensor({Dtype::f32, {1}}, {0}), sin = make_tensor({Dtype::f32, {1}}, {1});
  const Bounded y = evaluate_op(Rope{Rope::Pairing::half, 2}, {Bounded(x), Bounded(cos), Bounded(sin)});
  EXPECT_EQ(y.v[0], -2);
  EXPECT_EQ(y.v[1], 1);
  EXPECT_EQ(y.v[3], x.value(3));
  EXPECT_TRUE(std::isnan(y.v[4]) && y.exact());
}

TEST(Rope, SpecialValues) {
  const auto one = [](double a, double b, double c, double s) {
    return evaluate_op(
        Rope{}, {Bounded(make_tensor({Dtype::f32, {2}}, {a, b})),
                 Bounded(make_tensor({Dtype::f32, {1}}, {c})), Bounded(make_tensor({Dtype::f32, {1}}, {s}))});
  };
  Bounded y = one(kInf, 1, 1, 0);
  EXPECT_TRUE(y.v[0] == kInf && y.error(0) == 0);
  EXPECT_TRUE(std::isnan(y.v[1]) && y.error(1) == 0);  // inf times 0
  y = one(3e38, 3e38, 2, 2);
  EXPECT_EQ(y.error(0), kInf);  // inf - inf, or 0 where a product is fused
  y = one(kNan, 1, 0.5, 0.5);
  EXPECT_TRUE(std::isnan(y.v[0]) && y.error(0) == 0);
}

}  // namespace
}  // namespace fusesmith::oracle
