// add, sub, mul, div, scale, cast: the correctly rounded result is within bounds and, for exact inputs, its
// neighbours are not (but where rounding to f32 on the way to 16 bits may choose either); select and movement
// ops change no bits.
#include <gtest/gtest.h>

#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

struct Binary {
  std::string name;
  Op op;
  float (*compute)(float, float);
  long double (*exact)(long double, long double);
};

std::vector<Binary> binaries() {
  return {{"add", Add{}, [](float a, float b) { return a + b; },
           [](long double a, long double b) { return a + b; }},
          {"sub", Sub{}, [](float a, float b) { return a - b; },
           [](long double a, long double b) { return a - b; }},
          {"mul", Mul{}, [](float a, float b) { return a * b; },
           [](long double a, long double b) { return a * b; }},
          {"div", Div{}, [](float a, float b) { return a / b; },
           [](long double a, long double b) { return a / b; }}};
}

double neighbour(Dtype dtype, double x, double direction) {
  if (dtype == Dtype::f32)
    return static_cast<double>(std::nextafter(static_cast<float>(x), static_cast<float>(direction)));
  const double step = 2 * half_ulp(dtype, x), far = x + (direction > x ? step : -step);
  const double near = x + (direction > x ? step : -step) / 2;  // representable just below a power of two
  return round_to(dtype, near) == near ? near : round_to(dtype, far);
}

std::vector<double> operands(Dtype dtype, Rng& rng, size_t n) {
  const int range = dtype == Dtype::f16 ? 14 : 126;
  std::vector<double> x{
      0, -0.0, 1, -1, max_finite(dtype), -max_finite(dtype), std::ldexp(1.0, min_exponent(dtype)), 3, 1e-3};
  while (x.size() < n) {
    const int kind = static_cast<int>(rng.below(3));
    x.push_back(kind == 0   ? rng.normal()
                : kind == 1 ? rng.sign() * std::exp2(rng.uniform(-range, range))
                            : static_cast<double>(rng.below(33) - 16));
  }
  for (double& v : x) v = round_to(dtype, v);
  return x;
}

// 16-bit results pass through f32: a neighbour is allowed only where v lies within one f32 rounding of the
// boundary between both.
bool near_tie(Dtype dtype, double v, double a, double b) {
  return is_narrow(dtype) && std::fabs(v - (a + b) / 2) <= 1.001 * kU * std::fabs(v) + 0x1p-149;
}

TEST(Arithmetic, CorrectRoundingAloneIsLawful) {
  Rng rng(1);
  int64_t neighbours = 0, ties = 0;
  for (Dtype dtype : kFloatDtypes) {
    const auto a = operands(dtype, rng, 3000), b = operands(dtype, rng, 3000);
    const TensorType type{dtype, {3000}};
    for (const Binary& binary : binaries()) {
      const Bounded y =
          evaluate_op(binary.op, {Bounded(make_tensor(type, a)), Bounded(make_tensor(type, b))});
      for (size_t i = 0; i < a.size(); ++i) {
        const double got = store(dtype, binary.compute(static_cast<float>(a[i]), static_cast<float>(b[i])));
        const std::string what = binary.name + " " + std::string(name(dtype)) + " of " + number_text(a[i]) +
                                 " and " + number_text(b[i]);
        ASSERT_TRUE(lawful(dtype, y.v[i], y.error(i), got))
            << what << " got " << got << " want " << y.v[i] << " +- " << y.error(i);
        if (!std::isfinite(got)) {
          EXPECT_FALSE(lawful(dtype, y.v[i], y.error(i), 1)) << what;
          continue;
        }
        const auto exact = static_cast<double>(binary.exact(a[i], b[i]));
        EXPECT_NEAR(y.v[i], exact, std::fabs(exact) * 0x1p-52) << what;
        for (double side : {-kInf, kInf}) {
          const double other = neighbour(dtype, got, side);
          if (!std::isfinite(other)) continue;
          ++neighbours;
          if (!lawful(dtype, y.v[i], y.error(i), other)) continue;
          ++ties;
          EXPECT_TRUE(near_tie(dtype, y.v[i], got, other))
              << what << " got " << got << " other " << other << " v " << y.v[i];
        }
      }
    }
  }
  EXPECT_LT(static_cast<double>(ties), 0.01 * static_cast<double>(neighbours));
}

TEST(Arithmetic, OverflowAndNaN) {
  const auto one = [](const Op& op, double a, double b, Dtype dtype = Dtype::f32) {
    return evaluate_op(op,
                       {Bounded(make_tensor({dtype, {1}}, {a})), Bounded(make_tensor({dtype, {1}}, {b}))});
  };
  for (const Bounded& y : {one(Div{}, 0, 0), one(Sub{}, kInf, kInf), one(Mul{}, 0, kInf),
                           one(Div{}, kInf, kInf), one(Add{}, kNan, 1)}) {
    EXPECT_TRUE(std::isnan(y.v[0]));
    EXPECT_EQ(y.error(0), 0);
  }
  EXPECT_TRUE(lawful(Dtype::f32, one(Div{}, -1, 0).v[0], 0, -kInf));
  for (Dtype dtype : kFloatDtypes) {
    const double max = max_finite(dtype);
    const Bounded y = one(Add{}, max, max, dtype);
    EXPECT_TRUE(lawful(dtype, y.v[0], y.error(0), kInf));
    EXPECT_FALSE(lawful(dtype, y.v[0], y.error(0), max));
  }
}

TEST(Arithmetic, ScaleRoundsItsFactorFirst) {
  Rng rng(2);
  for (bool inverse : {false, true}) {
    for (double factor : {0.1, 3.0, 0.125, -1e-7, 1 / std::sqrt(80.0)}) {
      for (Dtype dtype : kFloatDtypes) {
        const Tensor x = make_tensor({dtype, {500}}, [&](int64_t) { return rng.normal(); });
        const Bounded y = evaluate_op(Scale{factor, inverse}, {Bounded(x)});
        const auto f = static_cast<float>(factor);
        for (int64_t i = 0; i < x.size(); ++i) {
          const auto v = static_cast<float>(x.value(i));
          const double got = store(dtype, inverse ? v / f : v * f);
          const auto at = static_cast<size_t>(i);
          EXPECT_TRUE(lawful(dtype, y.v[at], y.error(at), got));
          for (double side : {-kInf, kInf}) {
            const double other = neighbour(dtype, got, side);
            if (!std::isfinite(got) || !std::isfinite(other)) continue;
            EXPECT_TRUE(!lawful(dtype, y.v[at], y.error(at), other) || near_tie(dtype, y.v[at], got, other))
                << got << " " << other;
          }
        }
      }
    }
  }
}

// Every pair of float dtypes; the conversion is a single rounding to nearest even, ties included.
TEST(Arithmetic, CastRoundsOnce) {
  Rng rng(3);
  for (Dtype from : kFloatDtypes) {
    for (Dtype to : kFloatDtypes) {
      std::vector<double> x = operands(from, rng, 1000);
      for (int i = 0; i < 200; ++i)
        x.push_back(round_to(from, 1 + std::ldexp(static_cast<double>(2 * i + 1), -precision(to))));  // ties
      x.insert(x.end(), {kInf, -kInf, kNan, 65519.99, 65520, 3.396e38});
      const Tensor t = make_tensor({from, {static_cast<int64_t>(x.size())}}, x);
      const Bounded y = evaluate_op(Cast{to}, {Bounded(t)});
      for (size_t i = 0; i < x.size(); ++i) {
        const double got = store(to, static_cast<float>(t.value(static_cast<int64_t>(i))));
        const double low = stored_interval(to, true, y.v[i], y.error(i)).lo,
                     high = stored_interval(to, true, y.v[i], y.error(i)).hi;
        EXPECT_TRUE(std::isnan(got) ? std::isnan(low) && std::isnan(high) : low == got && high == got)
            << got << " from " << y.v[i];
      }
    }
  }
}

// Interval inputs: the exact result at both ends and inside.
TEST(Arithmetic, InexactInputs) {
  Rng rng(4);
  for (const Binary& binary : binaries()) {
    for (int trial = 0; trial < 3000; ++trial) {
      const double width = std::exp2(rng.uniform(-24, 1));
      const Bounded a = with_error(Bounded(make_tensor({Dtype::f32, {1}}, {rng.normal()})),
                                   [&](size_t) { return width * rng.uniform(); });
      const Bounded b = with_error(Bounded(make_tensor({Dtype::f32, {1}}, {rng.normal()})),
                                   [&](size_t) { return width * rng.uniform(); });
      const Bounded y = evaluate_op(binary.op, {a, b});
      for (double side_a : {-1.0, 0.3, 1.0}) {
        for (double side_b : {-1.0, -0.6, 1.0}) {
          const long double exact = binary.exact(a.v[0] + static_cast<long double>(side_a) * a.e[0],
                                                 b.v[0] + static_cast<long double>(side_b) * b.e[0]);
          const long double own =
              0x1p-60L * (std::fabs(a.v[0]) + std::fabs(b.v[0]) + std::fabs(exact));  // of long double
          EXPECT_LE(std::fabs(exact - y.v[0]), y.error(0) + own) << binary.name;
        }
      }
    }
  }
}

// An interval that reaches 0 makes the quotient unknown.
TEST(Arithmetic, DivisionByAnIntervalWithZero) {
  const Bounded a(make_tensor({Dtype::f32, {1}}, {1}));
  const Bounded b =
      with_error(Bounded(make_tensor({Dtype::f32, {1}}, {0x1p-10})), [](size_t) { return 0x1p-10; });
  EXPECT_EQ(evaluate_op(Div{}, {a, b}).error(0), kInf);
}

TEST(Select, ChoosesAndPassesErrorsOn) {
  const Bounded x = with_error(Bounded(make_tensor({Dtype::f32, {5}}, {-1, 1, 0.5, -0.5, kNan})),
                               [](size_t i) { return i < 4 ? 0.75 : 0; });
  const Bounded relu = evaluate_op(Relu{}, {x});
  EXPECT_EQ(relu.error(0), 0);
  EXPECT_EQ(relu.v[1], 1);
  for (size_t i = 1; i < 4; ++i) {
    for (double side : {-1.0, 0.0, 1.0})
      EXPECT_LE(std::fabs(std::fmax(x.v[i] + side * 0.75, 0) - relu.v[i]), relu.error(i));
  }
  EXPECT_TRUE(std::isnan(relu.v[4]));

  const Bounded mask(make_tensor({Dtype::boolean, {5}}, {1, 0, 1, 0, 0}));
  for (bool inverted : {false, true}) {
    const Bounded filled = evaluate_op(MaskedFill{-kInf, inverted}, {x, mask});
    for (size_t i = 0; i < 4; ++i) {
      const bool fill = (mask.v[i] != 0) != inverted;
      EXPECT_EQ(filled.v[i], fill ? -kInf : x.v[i]);
      EXPECT_EQ(filled.error(i), fill ? 0 : 0.75);
    }
  }
  const Bounded value(make_tensor({Dtype::bf16, {1}}, {0}));
  EXPECT_EQ(evaluate_op(MaskedFill{0.1}, {value, Bounded(make_tensor({Dtype::boolean, {1}}, {1}))}).v[0],
            round_to(Dtype::bf16, 0.1));

  const Bounded other(make_tensor({Dtype::f32, {2, 1}}, {7, 8}));
  const Bounded where = evaluate_op(Where{}, {mask, x, other});
  for (size_t row = 0; row < 2; ++row) {
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(where.v[row * 5 + i], mask.v[i] != 0 ? x.v[i] : other.v[row]);
      EXPECT_EQ(where.error(row * 5 + i), mask.v[i] != 0 ? 0.75 : 0);
    }
  }
}

}  // namespace
}  // namespace fusesmith::oracle
