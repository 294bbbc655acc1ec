// Evaluating regions under a reading: which inner roundings there are, what dropping, moving and slack do to
// the intervals.
#include "oracle/evaluate.h"

#include <gtest/gtest.h>

#include "oracle/test_executor.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

struct Region1 {
  Graph graph;
  Region region;
  Trace trace;
};

// a * b, scaled, then as bf16: f32 -> bf16 by an explicit cast, and bf16 arithmetic around it.
Region1 chain(double a = 1.0 / 3) {
  Builder b;
  const TensorType bf16{Dtype::bf16, {1}};
  const ValueId x = b.input("x", bf16, Constant{}), y = b.input("y", bf16, Constant{});
  const ValueId m = b.node(Mul{}, {x, y}, "m");
  const ValueId r = b.node(Reshape{{1}}, {m}, "r");
  const ValueId wide = b.node(Cast{Dtype::f32}, {r}, "wide");
  const ValueId narrow = b.node(Cast{Dtype::bf16}, {b.node(Scale{a}, {wide}, "scaled")}, "narrow");
  b.output(b.node(Add{}, {narrow, x}, "out"));
  Region1 c{*b.build(), {}, {}};
  c.region = make_region(c.graph, {0, 1, 2, 3, 4, 5});
  c.trace = Executor().run(c.graph, {make_tensor(bf16, {1.5}), make_tensor(bf16, {1.0078125})});
  return c;
}

double round_bf16(double x) { return round_to(Dtype::bf16, x); }

RegionOutput evaluate_with(const Region1& c, const std::vector<Deviation>& deviations) {
  auto outputs = evaluate(c.graph, c.region, c.trace, {deviations});
  EXPECT_EQ(outputs.size(), 1u);
  return outputs[0];
}

TEST(InnerRoundings, AreTheComputed16BitValuesThatNoOneSees) {
  const Region1 c = chain();
  const auto found = inner_roundings(c.graph, c.region);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].value, "m");
  EXPECT_FALSE(found[0].is_explicit);
  EXPECT_EQ(found[1].value, "narrow");
  EXPECT_TRUE(found[1].is_explicit);
  EXPECT_EQ(found[1].dtype, Dtype::bf16);
}

// x + y is stored and normalised: what is stored is rounded, what the norm reads need not be.
TEST(InnerRoundings, OfAnOutputThatIsReadInside) {
  Builder b;
  const TensorType bf16{Dtype::bf16, {2}};
  const ValueId x = b.input("x", bf16, Constant{}), y = b.input("y", bf16, Constant{});
  const ValueId sum = b.node(Add{}, {x, y}, "sum");
  b.output(sum);
  b.output(b.node(Scale{1024}, {sum}, "out"));
  Region1 c{*b.build(), {}, {}};
  c.region = make_region(c.graph, {0, 1});
  c.trace = Executor().run(c.graph, {make_tensor(bf16, {1, 1}), make_tensor(bf16, {0, 0x1p-9})});
  const auto found = inner_roundings(c.graph, c.region);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].value, "sum");
  for (const bool dropped : {false, true}) {
    const std::vector<Deviation> drop{{Deviation::Kind::drop, "sum", Dtype::bf16, 0, ""}};
    const auto outputs = evaluate(c.graph, c.region, c.trace, {dropped ? drop : std::vector<Deviation>{}});
    ASSERT_EQ(outputs.size(), 2u);
    EXPECT_EQ(outputs[0].bounded->v[1], 1 + 0x1p-9);
    EXPECT_EQ(outputs[1].bounded->v[1], dropped ? 1026 : 1024);
  }
}

TEST(InnerRoundings, ACastToTheSameDtypeIsNotExplicit) {
  Builder b;
  const TensorType narrow{Dtype::bf16, {4}};
  const ValueId x = b.input("x", narrow, Normal{}), wide = b.input("wide", {Dtype::f32, {4}}, Normal{});
  const ValueId same = b.node(Cast{Dtype::bf16}, {b.node(Mul{}, {x, x}, "product")}, "same");
  const ValueId cast = b.node(Cast{Dtype::bf16}, {wide}, "cast");
  b.output(b.node(Add{}, {same, cast}, "y"));
  const Graph graph = *b.build();
  std::map<std::string, bool> is_explicit;
  for (const InnerRounding& inner : inner_roundings(graph, make_region(graph, {0, 1, 2, 3})))
    is_explicit[inner.value] = inner.is_explicit;
  EXPECT_EQ(is_explicit, (std::map<std::string, bool>{{"product", false}, {"same", false}, {"cast", true}}));
}

TEST(InnerRoundings, OfAComposite) {
  Builder b;
  const TensorType type{Dtype::f16, {2, 3, 4}};
  const ValueId q = b.input("q", type, Normal{}), k = b.input("k", type, Normal{}),
                v = b.input("v", type, Normal{});
  const ValueId att = b.node(Sdpa{Sdpa::ScaleOn::both, false, Sdpa::Mask::causal}, {q, k, v}, "att");
  b.output(b.node(Relu{}, {att}, "y"));
  const Graph graph = *b.build();
  std::vector<std::string> names;
  for (const InnerRounding& inner : inner_roundings(graph, make_region(graph, {0, 1})))
    names.push_back(inner.value);
  EXPECT_EQ(names, (std::vector<std::string>{"att/q_scaled", "att/k_scaled", "att/scores", "att/p", "att"}));
  EXPECT_EQ(inner_roundings(graph, make_region(graph, {0})).size(), 4u);  // alone, "att" itself is stored
}

TEST(Evaluate, StrictReadingRoundsWhereTheGraphSays) {
  const Region1 c = chain();
  const RegionOutput out = evaluate_with(c, {});
  const double m = round_bf16(1.5 * 1.0078125);
  const double third = static_cast<double>(static_cast<float>(1.0 / 3));
  EXPECT_EQ(out.bounded->v[0], round_bf16(m * third) + 1.5);
  EXPECT_EQ(out.bounded->error(0), 0);
  EXPECT_TRUE(out.computed);
}

TEST(Evaluate, DroppedRoundingsAreKeptInF32) {
  const Region1 c = chain();
  const double third = static_cast<double>(static_cast<float>(1.0 / 3));
  const RegionOutput both = evaluate_with(c, {{Deviation::Kind::drop, "m", Dtype::bf16, 0, ""},
                                              {Deviation::Kind::drop, "narrow", Dtype::bf16, 0, ""}});
  EXPECT_NEAR(both.bounded->v[0], 1.5 * 1.0078125 * third + 1.5, 1e-15);
  EXPECT_GT(both.bounded->error(0), 0);
  EXPECT_LT(both.bounded->error(0), 4 * kU);
  const RegionOutput one = evaluate_with(c, {{Deviation::Kind::drop, "m", Dtype::bf16, 0, ""}});
  EXPECT_EQ(one.bounded->v[0], round_bf16(1.5 * 1.0078125 * third) + 1.5);
}

TEST(Evaluate, MovedRoundingsAddTheirRelativeError) {
  const Region1 c = chain();
  const RegionOutput out = evaluate_with(c, {{Deviation::Kind::move, "m", Dtype::bf16, 0x1p-8, ""},
                                             {Deviation::Kind::drop, "narrow", Dtype::bf16, 0, ""}});
  EXPECT_GT(out.bounded->error(0), 0.5 * 0x1p-8);
  EXPECT_LT(out.bounded->error(0), 0.51 * 0x1p-8);
}

TEST(Evaluate, SlackIsAddedInEveryReading) {
  Region1 c = chain();
  c.region.contract.slacks.push_back({"scaled", 0x1p-3, "a test"});
  const RegionOutput out = evaluate_with(c, {});
  EXPECT_GT(out.bounded->error(0), 0.5 * 0x1p-3);
}

// p v where p is normalised only afterwards: partial sums of one column may overflow, those of the other not.
TEST(Evaluate, OnlyWhatMayOverflowUnnormalisedIsUnknown) {
  Builder b;
  const ValueId p = b.input("p", {Dtype::f32, {2, 3}}, Constant{}),
                v = b.input("v", {Dtype::f32, {3, 2}}, Constant{});
  b.output(b.node(Matmul{}, {p, v}, "out"));
  const Graph graph = *b.build();
  Region region = make_region(graph, {0});
  const Trace trace =
      Executor().run(graph, {make_tensor({Dtype::f32, {2, 3}}, {0.5, 0.25, 0.25, 0.1, 0.2, 0.7}),
                             make_tensor({Dtype::f32, {3, 2}}, {2e38, 1e37, 1e38, 1e37, 1e38, -1e37})});
  const auto unknown = [&] {
    const BoundedPtr out = evaluate(graph, region, trace, {})[0].bounded;
    std::vector<bool> result;
    for (size_t i = 0; i < out->v.size(); ++i) result.push_back(std::isinf(out->error(i)));
    return result;
  };
  EXPECT_EQ(unknown(), std::vector<bool>(4, false));
  region.contract.unnormalised = {"out"};
  EXPECT_EQ(unknown(), (std::vector<bool>{true, false, true, false}));
}

// A value that is stored and read inside the region appears as an output, and its readers see it rounded:
// that they might not is a rounding to know of.
TEST(Evaluate, SharedValuesAreOutputsToo) {
  Builder b;
  const TensorType bf16{Dtype::bf16, {1}};
  const ValueId x = b.input("x", bf16, Constant{});
  const ValueId m = b.node(Scale{1.0 / 3}, {x}, "m");
  b.output(m);
  b.output(b.node(Add{}, {m, x}, "y"));
  const Graph graph = *b.build();
  const Region region = make_region(graph, {0, 1});
  const Trace trace = Executor().run(graph, {make_tensor(bf16, {1.5})});
  const auto outputs = evaluate(graph, region, trace, {});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].value, m);
  EXPECT_NEAR(outputs[0].bounded->v[0], 0.5, 1e-7);  // before it stores
  EXPECT_EQ(outputs[1].bounded->v[0], 2.0);
  const auto roundings = inner_roundings(graph, region);
  ASSERT_EQ(roundings.size(), 1u);
  EXPECT_EQ(roundings[0].value, "m");
}

TEST(Evaluate, OutputsKnowWhetherTheyWereComputed) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::bf16, {2}}, Constant{});
  b.output(b.node(Relu{}, {x}, "r"));
  b.output(b.node(Sigmoid{}, {x}, "s"));
  const Graph graph = *b.build();
  Trace trace;
  trace.values = {std::make_shared<Tensor>(make_tensor({Dtype::bf16, {2}}, {1, -1})), nullptr, nullptr};
  const auto outputs = evaluate(graph, make_region(graph, {0, 1}), trace, {});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_FALSE(outputs[0].computed);
  EXPECT_TRUE(outputs[1].computed);
}

// A kernel may add 0 to a product of -0, or not: the infinity that its inverse root gives has either sign.
TEST(Evaluate, SignsOfZeroSumsAreUnknown) {
  for (const Op& op : {Op(Einsum{"i,i->i"}), Op(Mul{})}) {
    Builder b;
    const ValueId x = b.input("x", {Dtype::f32, {1}}, Normal{}),
                  w = b.input("w", {Dtype::f32, {1}}, Normal{});
    b.output(b.node(Rsqrt{}, {b.node(op, {x, w})}, "r"));
    const Graph graph = *b.build();
    Trace trace;
    for (const double value : {0.0, -0.0})
      trace.values.push_back(
          std::make_shared<Tensor>(make_tensor({Dtype::f32, {1}}, std::vector<double>{value})));
    trace.values.resize(static_cast<size_t>(graph.value_count()));
    const auto outputs = evaluate(graph, make_region(graph, {0, 1}), trace, {});
    EXPECT_EQ(outputs[0].bounded->error(0), std::holds_alternative<Mul>(op) ? 0.0 : kInf) << name(op);
  }
}

}  // namespace
}  // namespace fusesmith::oracle
