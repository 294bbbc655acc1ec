// What a contract may say of a library's arithmetic: results that only such arithmetic gives are within
// bounds where it is declared, and outside elsewhere.
#include <gtest/gtest.h>

#include "oracle/region_judge.h"
#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

Tensor row(const std::vector<double>& values, Dtype dtype = Dtype::f32) {
  return make_tensor({dtype, {static_cast<int64_t>(values.size())}}, values);
}

struct OneNode {
  Graph graph;
  Plan plan;
  Trace trace;

  OneNode(const Op& op, const std::vector<Tensor>& inputs) {
    Builder b;
    std::vector<ValueId> ids;
    for (size_t i = 0; i < inputs.size(); ++i) {
      ids.push_back(b.input("x" + std::to_string(i), inputs[i].type, Normal{}));
      trace.values.push_back(std::make_shared<Tensor>(inputs[i]));
    }
    b.output(b.node(op, ids, "y"));
    graph = *b.build();
    plan.regions.push_back(make_region(graph, {0}));
  }

  // The verdict on these results, under this arithmetic.
  std::string judge(const std::vector<double>& results, const Arithmetic& arithmetic) {
    Trace given = trace;
    given.values.push_back(std::make_shared<Tensor>(make_tensor(graph.type(graph.outputs()[0]), results)));
    plan.regions[0].contract.arithmetic = arithmetic;
    return std::string(name(judge_region(graph, plan, 0, given, {}).verdict));
  }
};

// How many elements of a variance and a mean, each of one row, are outside under this arithmetic.
int64_t outside(const VarMean& op, const std::vector<double>& x, double variance, double mean,
                const Arithmetic& arithmetic) {
  OneNode node(op, {row(x)});
  for (double result : {variance, mean}) {
    node.trace.values.push_back(
        std::make_shared<Tensor>(make_tensor({Dtype::f32, {}}, std::vector<double>{result})));
  }
  node.plan.regions[0].contract.arithmetic = arithmetic;
  return judge_region(node.graph, node.plan, 0, node.trace, {}).outside;
}

TEST(DeclaredArithmetic, ASquareRootOneUlpOff) {
  OneNode node(Sqrt{}, {row({2, 3, 4})});
  std::vector<double> off;
  for (float x : {2.0f, 3.0f, 4.0f}) off.push_back(static_cast<double>(std::nextafter(std::sqrt(x), 9.0f)));
  EXPECT_EQ(node.judge(off, {}), "defect");
  EXPECT_EQ(node.judge(off, {.sqrt = 3}), "reassociation");
}

TEST(DeclaredArithmetic, OfOneOpAlone) {
  OneNode node(Sqrt{}, {row({2})});
  const std::vector<double> off = {static_cast<double>(std::nextafter(std::sqrt(2.0f), 9.0f))};
  Contract& contract = node.plan.regions[0].contract;
  contract.arithmetic_of["rsqrt"] = {.sqrt = 3};
  EXPECT_EQ(node.judge(off, {}), "defect");
  contract.arithmetic_of["sqrt"] = {.sqrt = 3};
  EXPECT_EQ(node.judge(off, {}), "reassociation");
}

// What is declared of a composite op holds for the ops inside of it, and only there.
TEST(DeclaredArithmetic, OfTheOpsInsideOfAComposite) {
  const Tensor q = make_tensor({Dtype::f32, {1, 2}}, {1, 1}),
               k = make_tensor({Dtype::f32, {2, 2}}, {1, 1, 0, 0}),
               v = make_tensor({Dtype::f32, {2, 1}}, {1, 0});
  Sdpa op;
  op.scale = 1;
  OneNode node(op, {q, k, v});
  const double right = 1 / (1 + std::exp(-2.0));
  Contract& contract = node.plan.regions[0].contract;
  const auto judged = [&] { return node.judge({right * (1 + 400 * kU)}, {}); };
  EXPECT_EQ(judged(), "defect");
  contract.arithmetic_of["softmax"] = {.exp = 4000};
  EXPECT_EQ(judged(), "defect");
  contract.arithmetic_of["sdpa"] = {.exp = 4000};
  EXPECT_EQ(judged(), "reassociation");
}

// x (1 / x) may differ from 1, where 1 / x is rounded.
TEST(DeclaredArithmetic, AQuotientByAReciprocal) {
  OneNode node(Div{}, {row({3, 4, 6, 0}), row({3, 4, 2, 7})});
  const double above = 1 + 0x1p-23;
  EXPECT_EQ(node.judge({above, 1, 3, 0}, {}), "defect");
  EXPECT_EQ(node.judge({above, 1, 3, 0}, {.div = 4}), "reassociation");
  EXPECT_EQ(node.judge({1, above, 3, 0}, {.div = 4}), "defect");
  EXPECT_EQ(node.judge({1, 1, 3 * above, 0}, {.div = 4}), "defect");
  EXPECT_EQ(node.judge({1, 1, 3, 0x1p-149}, {.div = 4}), "defect");
}

TEST(DeclaredArithmetic, ASigmoidThatVanishesEarly) {
  const std::vector<double> x = {-18, -40, -200};
  OneNode sigmoid(Sigmoid{}, {row(x)}), silu(Silu{}, {row(x)});
  const Arithmetic rational{.sigmoid_absolute = 1};
  EXPECT_EQ(sigmoid.judge({0, 0, 0}, {}), "defect");
  EXPECT_EQ(sigmoid.judge({0, 0, 0}, rational), "reassociation");
  EXPECT_EQ(sigmoid.judge({0x1.01p-24, 0, 0}, rational), "reassociation");
  EXPECT_EQ(sigmoid.judge({0, 0x1.1p-24, 0}, rational), "defect");
  EXPECT_EQ(silu.judge({0, 0, 0}, {}), "defect");
  EXPECT_EQ(silu.judge({0, 0, -200 * 0x1p-25}, rational), "reassociation");
  EXPECT_EQ(silu.judge({0, 0, -200 * 0x1p-23}, rational), "defect");
}

TEST(DeclaredArithmetic, SubnormalsReadAndWrittenAsZeros) {
  const Arithmetic flushes{.flushes_subnormals = true};
  const double small = 0x1p-127;
  OneNode mul(Mul{}, {row({small, 0x1p-100, 1}), row({2, 0x1p-30, 1})});
  EXPECT_EQ(mul.judge({0, 0, 1}, {}), "defect");
  EXPECT_EQ(mul.judge({0, 0, 1}, flushes), "reassociation");
  EXPECT_EQ(mul.judge({2 * small, 0x1p-130, 1}, flushes), "reassociation");
  EXPECT_EQ(mul.judge({0, 0, 0}, flushes), "defect");
  OneNode relu(Relu{}, {row({small})});
  EXPECT_EQ(relu.judge({0}, {}), "defect");
  EXPECT_EQ(relu.judge({0}, flushes), "reassociation");
  // 2^-127 + 2^-126, of which the first product is flushed: not a subnormal number.
  OneNode rope(Rope{}, {row({0x1p-100, 0x1p-100}), row({0x1p-27}), row({-0x1p-26})});
  EXPECT_EQ(rope.judge({0x1p-126, 0}, {}), "defect");
  EXPECT_EQ(rope.judge({0x1p-126, 0}, flushes), "reassociation");
  EXPECT_EQ(rope.judge({0x1p-124, 0}, flushes), "defect");
  // A copy computes nothing, so that it flushes nothing.
  OneNode flip(Flip{{0}}, {row({small, 1})});
  EXPECT_EQ(flip.judge({1, 0}, flushes), "defect");
}

// Exact sums of squares, divided by 3 by a product with the rounded 1 / 3.
TEST(DeclaredArithmetic, AVarianceByAReciprocal) {
  int differ = 0;
  for (int a = 1; a <= 30; ++a) {
    const auto squares = static_cast<float>(2 * (a * a + 1));
    const float third = squares * (1.0f / 3.0f);
    if (third == squares / 3.0f) continue;
    ++differ;
    const double far = a;
    const auto outside_under = [&](const Arithmetic& arithmetic) {
      return outside(VarMean{{0}, 1, false}, {-far, far, -1, 1}, third, 0, arithmetic);
    };
    EXPECT_EQ(outside_under({}), 1) << a;
    EXPECT_EQ(outside_under({.div = 2}), 0) << a;
  }
  EXPECT_GT(differ, 3);
}

// An exact sum whose mean is an f32 number, and the product of that sum with the rounded 1 / n.
TEST(DeclaredArithmetic, AMeanByAReciprocal) {
  int differ = 0;
  for (int a = 1; a <= 40; ++a) {
    const auto sum = static_cast<float>(15 * a);
    const float mean = sum * (1.0f / 15.0f);
    if (mean == static_cast<float>(a)) continue;
    ++differ;
    const std::vector<double> x(15, a);
    EXPECT_EQ(outside(VarMean{{0}, 0, false}, x, 0, mean, {}), 1) << a;
    EXPECT_EQ(outside(VarMean{{0}, 0, false}, x, 0, mean, {.div = 2}), 0) << a;
  }
  EXPECT_GT(differ, 3);
}

// Exact sums, and the sums of the quotients of their terms, each of which is rounded.
TEST(DeclaredArithmetic, AMeanOfQuotients) {
  constexpr int kCount = 15;
  int defects = 0;
  for (int a = 1; a <= 200; ++a) {
    std::vector<double> x;
    float mean = 0;
    for (int i = 0; i < kCount; ++i) {
      x.push_back(a + i);
      mean += static_cast<float>(a + i) * (1.0f / kCount);
    }
    OneNode node(ReduceMean{{0}, false}, {row(x)});
    EXPECT_NE(node.judge({mean}, {.means_of_quotients = true}), "defect") << a;
    defects += node.judge({mean}, {}) == "defect";
  }
  EXPECT_GT(defects, 3);
}

// Rows whose mean is exact and far from 0: x scale and shift cancel.
TEST(DeclaredArithmetic, NormsByScaleAndShift) {
  constexpr size_t kWidth = 64;
  Rng rng(3);
  const Arithmetic shifted{.norms_scale_and_shift = true};
  int64_t outside_plain = 0;
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<double> x(kWidth), w(kWidth), b(kWidth), y(kWidth);
    for (size_t i = 0; i < kWidth; ++i) {
      x[i] = 3000 + (i % 2 == 0 ? 1.0 : -1.0) * static_cast<double>(1 + (i / 2) % 4);
      w[i] = static_cast<float>(rng.normal());
      b[i] = static_cast<float>(rng.normal());
    }
    OneNode node(LayerNorm{}, {row(x), row(w), row(b)});
    double mean = 0, variance = 0;
    for (double v : x) mean += v / kWidth;
    for (double v : x) variance += (v - mean) * (v - mean) / kWidth;
    const auto m = static_cast<float>(mean), r = static_cast<float>(1 / std::sqrt(variance + 1e-5));
    for (size_t i = 0; i < kWidth; ++i) {
      const float scale = r * static_cast<float>(w[i]), shift = static_cast<float>(b[i]) - m * scale;
      y[i] = static_cast<float>(x[i]) * scale + shift;
    }
    EXPECT_EQ(node.judge(y, shifted), "reassociation");
    outside_plain += node.judge(y, {}) == "defect";
    y[5] += 0.01;
    EXPECT_EQ(node.judge(y, shifted), "defect");
  }
  EXPECT_GT(outside_plain, 0);
}

// The mean square is 4^6, so that f32 adds no eps and every product is exact or a tie; f64 keeps eps, which
// decides the ties.
TEST(DeclaredArithmetic, ANormInF64WhoseRootIsAlmostAPowerOfTwo) {
  const double weight = 1 + 3 * 0x1p-22, eps = static_cast<double>(1e-6f);
  std::vector<double> x, weights, wide, narrow;
  for (const double v : {7, 5, 5, 3, 3, 3, 1, 1, -7, -5, -5, -3, -3, -3, -1, -1}) {
    x.push_back(16 * v);
    weights.push_back(weight);
    narrow.push_back(static_cast<double>(static_cast<float>(x.back() / 64 * weight)));
    wide.push_back(static_cast<double>(static_cast<float>(x.back() / std::sqrt(4096 + eps) * weight)));
  }
  ASSERT_NE(wide, narrow);
  OneNode node(RmsNorm{1e-6}, {row(x), row(weights)});
  EXPECT_NE(node.judge(wide, {}), "defect");
  EXPECT_NE(node.judge(narrow, {}), "defect");
  wide[3] = std::nextafter(std::nextafter(wide[3], 0.0), 0.0) * (1 - 0x1p-20);
  EXPECT_EQ(node.judge(wide, {}), "defect");
  OneNode plain(RmsNorm{1e-6}, {row(x)});
  std::vector<double> quotients;
  for (const double v : x) quotients.push_back(v / 64);
  EXPECT_EQ(plain.judge(quotients, {}), "reassociation");
  quotients[5] = static_cast<double>(std::nextafter(static_cast<float>(quotients[5]), 9.0f));
  EXPECT_EQ(plain.judge(quotients, {}), "defect") << "nothing follows the product: one result is right";
}

// sum / n, with a division that is off by 4 units of the quotient.
TEST(DeclaredArithmetic, AMeanByASloppyDivision) {
  OneNode node(ReduceMean{{0}}, {row({1, 1, 2})});
  const double off = static_cast<double>(static_cast<float>(4.0 / 3 * (1 + 3.9 * 0x1p-24)));
  EXPECT_EQ(node.judge({off}, {}), "defect");
  EXPECT_EQ(node.judge({off}, {.div = 4}), "reassociation");
}

// x / sqrt(mean + eps) w with a root and a division that are off by almost 4 units each.
TEST(DeclaredArithmetic, ANormByASquareRootAndADivision) {
  const std::vector<double> x = {3, 1, 1.5}, w = {1, 1, 1};
  std::vector<double> y;
  const double root = std::sqrt((9 + 1 + 2.25) / 3 + static_cast<double>(1e-5f));
  for (size_t i = 0; i < x.size(); ++i)
    y.push_back(static_cast<double>(static_cast<float>(x[i] * w[i] / root * (1 + 14.5 * 0x1p-24))));
  OneNode node(RmsNorm{1e-5}, {row(x), row(w)});
  EXPECT_EQ(node.judge(y, {.rsqrt = 4, .row_sums = {}}), "defect");
  EXPECT_EQ(node.judge(y, {.rsqrt = 4, .sqrt = 4, .div = 4}), "reassociation");
}

}  // namespace
}  // namespace fusesmith::oracle
