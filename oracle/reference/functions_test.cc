// tanh, softcap, erf, exp, log, sqrt, rsqrt, maximum: common formulas over all magnitudes of f32 stay in the
// bound, coarser ones do not; special values have the outcome that the ops' docs define.
#include <gtest/gtest.h>

#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

struct Function {
  std::string name;
  Op op;
  std::vector<float (*)(float)> formulas;
  float (*coarse)(float);  // must be out of bounds somewhere
};

std::vector<Function> functions() {
  return {
      {"tanh",
       Tanh{},
       {[](float x) { return std::tanh(x); }},
       [](float x) { return 1 - 2 / (std::exp(2 * x) + 1); }},
      {"exp",
       Exp{},
       {[](float x) { return std::exp(x); }},
       [](float x) { return std::exp2(x * 1.44269504f); }},
      {"erf", Erf{}, {[](float x) { return std::erf(x); }}, [](float x) { return 1 - std::erfc(x); }},
      {"log",
       Log{},
       {[](float x) { return std::log(x); }},
       [](float x) { return std::log(x) * (1 + 0x1p-21f); }},
      {"softcap",
       Softcap{30},
       {[](float x) { return 30 * std::tanh(x / 30); },
        [](float x) { return std::tanh(x * (1 / 30.0f)) * 30; }},
       [](float x) { return std::tanh(x / 29.999f) * 29.999f; }},
      {"sqrt",
       Sqrt{},
       {[](float x) { return std::sqrt(x); }},
       [](float x) { return x / std::sqrt(x) * (1 + 0x1p-22f); }},
      {"rsqrt",
       Rsqrt{},
       {[](float x) { return 1 / std::sqrt(x); }, [](float x) { return std::sqrt(1 / x); }},
       [](float x) { return (1 + 0x1p-21f) / std::sqrt(x); }},
  };
}

std::vector<float> arguments_functions() {
  std::vector<float> x;
  Rng rng(1);
  for (int exponent = -126; exponent <= 127; ++exponent) {
    for (int i = 0; i < 16; ++i)
      x.push_back(static_cast<float>(rng.sign() * std::ldexp(rng.uniform(1, 2), exponent)));
  }
  for (int i = 0; i < 30000; ++i) x.push_back(static_cast<float>(rng.uniform(-100, 100)));
  return x;
}

Bounded functions_reference_of(const Op& op, const std::vector<float>& x) {
  return evaluate_op(op, {Bounded(from_f32(x, {Dtype::f32, {static_cast<int64_t>(x.size())}}))});
}

TEST(Functions, EveryFormulaStaysInBoundsAndCoarseOnesDoNot) {
  const auto x = arguments_functions();
  for (const Function& function : functions()) {
    const Bounded y = functions_reference_of(function.op, x);
    int outside = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      for (auto formula : function.formulas) {
        for (Dtype dtype : kFloatDtypes) {
          const double got = store(dtype, formula(x[i]));
          EXPECT_TRUE(lawful(dtype, y.v[i], y.error(i), got))
              << function.name << " at " << x[i] << ": got " << got << " want " << y.v[i] << " +- "
              << y.error(i);
        }
      }
      outside += !lawful(Dtype::f32, y.v[i], y.error(i), static_cast<double>(function.coarse(x[i])));
    }
    EXPECT_GT(outside, 1000) << function.name;
  }
}

TEST(Functions, InexactInputs) {
  Rng rng(2);
  std::vector<float> x;
  for (int i = 0; i < 2000; ++i) x.push_back(static_cast<float>(rng.uniform(-12, 40)));
  const TensorType type{Dtype::f32, {static_cast<int64_t>(x.size())}};
  for (const Function& function : functions()) {
    for (double width : {1e-6, 1e-3, 0.1, 1.0}) {
      const Bounded inputs = with_error(Bounded(from_f32(x, type)), [&](size_t) { return width; });
      const Bounded y = evaluate_op(function.op, {inputs});
      for (double side : {-1.0, -0.5, 0.5, 1.0}) {
        for (size_t i = 0; i < x.size(); ++i) {
          const auto moved = static_cast<float>(inputs.v[i] + side * width * (1 - 1e-6));
          if (std::fabs(static_cast<double>(moved) - inputs.v[i]) > width || std::isnan(y.v[i])) continue;
          for (auto formula : function.formulas) {
            EXPECT_TRUE(lawful(Dtype::f32, y.v[i], y.error(i), static_cast<double>(formula(moved))))
                << function.name << " at " << x[i] << " width " << width;
          }
        }
      }
    }
  }
}

// What e = 0 demands to the bit.
TEST(Functions, SpecialAndExactValues) {
  const auto inf = std::numeric_limits<float>::infinity();
  const std::tuple<Op, float, double> exact[] = {
      {Tanh{}, inf, 1},     {Tanh{}, -inf, -1},     {Tanh{}, 0, 0},          {Exp{}, inf, kInf},
      {Exp{}, -inf, 0},     {Exp{}, 0, 1},          {Exp{}, 1e30f, kInf},    {Sqrt{}, inf, kInf},
      {Sqrt{}, 0, 0},       {Sqrt{}, 9, 3},         {Sqrt{}, -1, kNan},      {Sqrt{}, -inf, kNan},
      {Rsqrt{}, inf, 0},    {Rsqrt{}, 0, kInf},     {Rsqrt{}, -0.0f, -kInf}, {Rsqrt{}, -1, kNan},
      {Erf{}, inf, 1},      {Erf{}, -inf, -1},      {Erf{}, 0, 0},           {Log{}, inf, kInf},
      {Log{}, 0, -kInf},    {Log{}, -0.0f, -kInf},  {Log{}, 1, 0},           {Log{}, -1, kNan},
      {Softcap{5}, inf, 5}, {Softcap{5}, -inf, -5}, {Softcap{5}, 0, 0}};
  for (const auto& [op, x, want] : exact) {
    const Bounded y = functions_reference_of(op, {x});
    EXPECT_TRUE(y.v[0] == want || (std::isnan(y.v[0]) && std::isnan(want))) << to_string(op) << " of " << x;
    EXPECT_EQ(y.error(0), 0) << to_string(op) << " of " << x;
  }
  const Bounded tiny = functions_reference_of(Exp{}, {-105.5f});
  EXPECT_EQ(stored_interval(Dtype::f32, true, tiny.v[0], tiny.error(0)).hi, 0);
  for (const Function& function : functions()) {
    const Bounded y = functions_reference_of(function.op, {std::numeric_limits<float>::quiet_NaN()});
    EXPECT_TRUE(std::isnan(y.v[0]) && y.error(0) == 0) << function.name;
  }
}

TEST(Functions, RootsOfIntervalsAroundZeroAreUnknown) {
  const Bounded x =
      with_error(Bounded(make_tensor({Dtype::f32, {3}}, {-1, 0.5, 3})), [](size_t) { return 0.75; });
  for (const Op& op : {Op(Sqrt{}), Op(Rsqrt{}), Op(Log{})}) {
    const Bounded y = evaluate_op(op, {x});
    EXPECT_TRUE(std::isnan(y.v[0]) && y.error(0) == 0);
    EXPECT_EQ(y.error(1), kInf);
    EXPECT_LT(y.error(2), 1);
  }
}

TEST(Functions, MaximumOfIntervals) {
  const TensorType type{Dtype::f32, {6}};
  const Bounded a = with_error(Bounded(make_tensor(type, {1, 1, kNan, kInf, -kInf, -0.0})),
                               [](size_t i) { return i < 2 ? 0.5 : 0; });
  const Bounded b = with_error(Bounded(make_tensor(type, {1.25, 3, 2, 5, 5, 0.0})),
                               [](size_t i) { return i == 0 || i == 3 ? 0.125 : 0; });
  const Bounded y = evaluate_op(Maximum{}, {a, b});
  EXPECT_EQ(y.v[0], 1.25);
  EXPECT_EQ(y.error(0), 0.25);
  EXPECT_EQ(y.v[1], 3);
  EXPECT_EQ(y.error(1), 0);
  EXPECT_TRUE(std::isnan(y.v[2]) && y.error(2) == 0);
  EXPECT_TRUE(y.v[3] == kInf && y.error(3) == 0);
  EXPECT_EQ(y.v[4], 5);
  EXPECT_FALSE(std::signbit(y.v[5]));
}

}  // namespace
}  // namespace fusesmith::oracle
