// sigmoid, silu and gelu: every common formula, over all magnitudes of f32, is in the bound; so are inputs
// anywhere in an interval; and the tanh form of gelu is not the erf form.
#include <gtest/gtest.h>

#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

using Formula = float (*)(float);

constexpr float kRootHalf = 0.70710678118654752f, kRootTwoOverPi = 0.79788456080286536f;

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }
float sigmoid_stable(float x) {
  if (x >= 0) return sigmoid(x);
  const float e = std::exp(x);
  return e / (1 + e);
}
float silu_product(float x) { return x * sigmoid(x); }
float silu_quotient(float x) { return x / (1 + std::exp(-x)); }
float gelu_outer_half(float x) { return 0.5f * x * (1 + std::erf(x * kRootHalf)); }
float gelu_inner_half(float x) { return x * (0.5f * (1 + std::erf(x * kRootHalf))); }
float gelu_divided(float x) { return x * 0.5f * (1 + std::erf(x / 1.41421356237309505f)); }
float gelu_erfc(float x) { return x * 0.5f * std::erfc(-(x * kRootHalf)); }
float gelu_tanh(float x) {
  return 0.5f * x * (1 + std::tanh(kRootTwoOverPi * (x + 0.044715f * (x * x * x))));
}
float gelu_tanh_left(float x) {
  return 0.5f * x * (1 + std::tanh(kRootTwoOverPi * (x + 0.044715f * x * x * x)));
}
float gelu_tanh_factored(float x) {
  return 0.5f * x * (1 + std::tanh(kRootTwoOverPi * x * (1 + 0.044715f * x * x)));
}
float gelu_tanh_fused(float x) {
  return 0.5f * x * (1 + std::tanh(kRootTwoOverPi * std::fmaf(0.044715f * x * x, x, x)));
}

struct Activation {
  std::string name;
  Op op;
  std::vector<Formula> formulas;
};

std::vector<Activation> activations() {
  return {{"sigmoid", Sigmoid{}, {sigmoid, sigmoid_stable}},
          {"silu", Silu{}, {silu_product, silu_quotient}},
          {"gelu_erf", Gelu{Gelu::Form::erf}, {gelu_outer_half, gelu_inner_half, gelu_divided, gelu_erfc}},
          {"gelu_tanh",
           Gelu{Gelu::Form::tanh},
           {gelu_tanh, gelu_tanh_left, gelu_tanh_factored, gelu_tanh_fused}}};
}

// Every exponent of both signs, a dense stretch around zero, and the specials.
std::vector<float> arguments() {
  std::vector<float> x{0.0f, -0.0f};
  Rng rng(1);
  for (int exponent = -149; exponent <= 127; ++exponent) {
    for (int i = 0; i < 8; ++i)
      x.push_back(static_cast<float>(rng.sign() * std::ldexp(rng.uniform(1, 2), exponent)));
  }
  for (int i = 0; i < 60000; ++i) x.push_back(static_cast<float>(rng.uniform(-14, 14)));
  for (int i = 0; i < 4000; ++i) x.push_back(static_cast<float>(rng.uniform(-120, 120)));
  for (double limit : {max_finite(Dtype::f32), -max_finite(Dtype::f32), kInf, -kInf, kNan})
    x.push_back(static_cast<float>(limit));
  return x;
}

Bounded reference_of(const Op& op, const std::vector<float>& x) {
  return evaluate_op(op, {Bounded(from_f32(x, {Dtype::f32, {static_cast<int64_t>(x.size())}}))});
}

TEST(Activations, EveryFormulaStaysInBounds) {
  const auto x = arguments();
  for (const Activation& activation : activations()) {
    const Bounded y = reference_of(activation.op, x);
    Shares shares;
    for (size_t f = 0; f < activation.formulas.size(); ++f) {
      for (size_t i = 0; i < x.size(); ++i) {
        const float computed = activation.formulas[f](x[i]);
        for (Dtype dtype : kFloatDtypes) {
          const double got = store(dtype, computed);
          EXPECT_TRUE(lawful(dtype, y.v[i], y.error(i), got))
              << activation.name << " formula " << f << " at " << x[i] << ": got " << got << " want "
              << y.v[i] << " +- " << y.error(i);
        }
        if (std::fabs(x[i]) > 0.05f && std::fabs(x[i]) < 5)
          shares.add(share(Dtype::f32, y.v[i], y.error(i), static_cast<double>(computed)));
      }
    }
    RecordProperty(activation.name, shares.text());
    EXPECT_GT(shares.worst(), 0.2) << activation.name;
    EXPECT_GT(shares.median(), 0.005) << activation.name;
  }
}

// The bound against the exact function at both ends of the interval and inside; the formulas there as well.
TEST(Activations, InexactInputs) {
  Rng rng(2);
  std::vector<float> x;
  for (int i = 0; i < 3000; ++i) x.push_back(static_cast<float>(rng.uniform(-12, 12)));
  for (int i = 0; i < 200; ++i) x.push_back(static_cast<float>(i - 100));
  x.insert(x.end(), {0.0f, 1e-7f, -1e-7f, 1e-30f});
  for (const Activation& activation : activations()) {
    for (double width : {1e-7, 1e-5, 1e-3, 1e-2, 1e-1, 1.0}) {
      const Bounded inputs = with_error(Bounded(from_f32(x, {Dtype::f32, {static_cast<int64_t>(x.size())}})),
                                        [&](size_t) { return width; });
      const Bounded y = evaluate_op(activation.op, {inputs});
      for (double side : {-1.0, -0.5, 0.5, 1.0}) {
        std::vector<float> moved;
        for (float v : x)
          moved.push_back(static_cast<float>(static_cast<double>(v) + side * width * (1 - 1e-6)));
        const Bounded there = reference_of(activation.op, moved);
        for (size_t i = 0; i < x.size(); ++i) {
          if (std::fabs(static_cast<double>(moved[i]) - inputs.v[i]) > width) continue;
          EXPECT_LE(std::fabs(there.v[i] - y.v[i]) + there.error(i), y.error(i))
              << activation.name << " at " << x[i] << " width " << width;
          for (Formula formula : activation.formulas) {
            EXPECT_LE(std::fabs(static_cast<double>(formula(moved[i])) - y.v[i]),
                      y.error(i) + half_ulp(Dtype::f32, y.v[i]) * 1.01)
                << activation.name << " at " << x[i];
          }
        }
      }
    }
  }
}

// The interval's share of the bound is its true reach, within a factor, also where the function is flat.
TEST(Activations, IntervalsAreTight) {
  for (const Activation& activation : activations()) {
    for (double at : {-20.0, -8.0, -3.0, -0.5, 0.0, 0.7, 4.0, 15.0}) {
      const double width = 1e-2;
      const Tensor x = make_tensor({Dtype::f32, {3}}, {at - width, at, at + width});
      const Bounded exact = evaluate_op(activation.op, {Bounded(x)});
      const Bounded y = evaluate_op(activation.op, {with_error(Bounded(x), [&](size_t) { return width; })});
      const double reach = std::fmax(std::fabs(exact.v[0] - exact.v[1]), std::fabs(exact.v[2] - exact.v[1]));
      EXPECT_LE(y.error(1), 2 * (reach + exact.error(1))) << activation.name << " at " << at;
    }
  }
}

TEST(Activations, ZeroIsExact) {
  for (const Op& op : {Op(Silu{}), Op(Gelu{Gelu::Form::erf}), Op(Gelu{Gelu::Form::tanh})}) {
    const Bounded y = reference_of(op, {0.0f});
    EXPECT_EQ(y.v[0], 0);
    EXPECT_EQ(y.error(0), 0);
  }
}

// Far below zero the result is 0, and the bound says so.
TEST(Activations, LargeNegativeArgumentsAreTight) {
  for (const Activation& activation : activations()) {
    const Bounded y = reference_of(activation.op, {-200.0f, -1e10f, -3e38f});
    for (size_t i = 0; i < 3; ++i) EXPECT_LT(std::fabs(y.v[i]) + y.error(i), 0x1p-118) << activation.name;
  }
}

TEST(Activations, GeluFormsAreToldApart) {
  for (float x : {-2.7f, -2.0f, 2.7f, -1.0f}) {
    const Bounded erf = reference_of(Gelu{Gelu::Form::erf}, {x}),
                  tanh = reference_of(Gelu{Gelu::Form::tanh}, {x});
    EXPECT_FALSE(lawful(Dtype::f32, erf.v[0], erf.error(0), static_cast<double>(gelu_tanh(x)))) << x;
    EXPECT_FALSE(lawful(Dtype::f32, tanh.v[0], tanh.error(0), static_cast<double>(gelu_outer_half(x)))) << x;
  }
  const Bounded erf = reference_of(Gelu{Gelu::Form::erf}, {-2.7f});
  EXPECT_FALSE(lawful(Dtype::bf16, erf.v[0], erf.error(0), store(Dtype::bf16, gelu_tanh(-2.7f))));
}

}  // namespace
}  // namespace fusesmith::oracle
