#include "fuzz/run/exposing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "fuzz/run/opaque_test.h"

namespace fusesmith::fuzz {
namespace {

// Pairs of a linear layer and a norm, in bf16, with a residual around each pair.
Case deep_case(int pairs) {
  Builder b;
  const TensorType row{Dtype::bf16, {4, 32}}, square{Dtype::bf16, {32, 32}};
  ValueId x = b.input("x", row, Normal{0, 1});
  std::vector<ValueId> weights;
  for (int i = 0; i < pairs; ++i) weights.push_back(b.input("w" + std::to_string(i), square, Normal{0, 0.2}));
  for (int i = 0; i < pairs; ++i) {
    const std::string n = std::to_string(i);
    const ValueId norm = b.node(RmsNorm{}, {x}, "norm" + n);
    const ValueId product = b.node(Linear{}, {norm, weights[static_cast<size_t>(i)]}, "product" + n);
    x = b.node(Add{}, {x, b.node(Relu{}, {product}, "act" + n)}, "sum" + n);
  }
  b.output(x);
  Case test_case;
  test_case.seed = 3;
  test_case.graph = *b.build();
  return test_case;
}

// One element of a value becomes `wrong`, where the graph has this value.
Change sets(const std::string& value, double wrong) {
  return [=](const Graph& graph, Trace& trace) {
    const auto v = graph.find(value);
    if (!v || !trace.values[static_cast<size_t>(*v)]) return;
    Tensor changed = *trace.values[static_cast<size_t>(*v)];
    changed.set(5, wrong);
    trace.values[static_cast<size_t>(*v)] = std::make_shared<const Tensor>(std::move(changed));
  };
}

// Beside one without changes, so that no region is known to be right from a baseline that is judged by node.
// The last sum of deep_case(pairs), with the last product nearly half an ulp larger than it was stored: as of
// a kernel that does not round the product before it reads it.
Change sums_unrounded_product(int pairs) {
  return [=](const Graph& graph, Trace& trace) {
    const auto at = [&](const std::string& name) -> TensorPtr& {
      return trace.values[static_cast<size_t>(*graph.find(name))];
    };
    const std::string last = std::to_string(pairs - 1);
    const TensorPtr x = at("sum" + std::to_string(pairs - 2)), product = at("product" + last);
    Tensor sum = *at("sum" + last);
    for (int64_t i = 0; i < sum.size(); ++i)
      sum.set(i, x->value(i) + std::fmax(0, product->value(i) * (1 + 0x1p-9)));
    at("sum" + last) = std::make_shared<const Tensor>(std::move(sum));
  };
}

Verdict judged(const Case& test_case, const Backend& candidate, int64_t expose = kExposeWhereNeeded) {
  RunOptions options;
  options.expose = expose;
  return run_case(test_case, Opaque(), candidate, options);
}

std::vector<std::string> names(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<std::string> found;
  for (const ValueId v : values) found.push_back(graph.name(v));
  return found;
}

TEST(Expose, ChoosesWhatSeveralReadAndWhatIsProductOrNorm) {
  const Graph graph = deep_case(2).graph;
  EXPECT_EQ(names(graph, values_to_expose(graph, 100)),
            (std::vector<std::string>{"norm0", "product0", "sum0", "norm1", "product1"}));
  EXPECT_EQ(names(graph, values_to_expose(graph, 1)), std::vector<std::string>{"sum0"});
  EXPECT_TRUE(values_to_expose(graph, 0).empty());
}

TEST(Expose, CanExposeEveryInnerValue) {
  const Graph graph = deep_case(2).graph;
  EXPECT_EQ(names(graph, all_inner_values(graph)),
            (std::vector<std::string>{"norm0", "product0", "act0", "sum0", "norm1", "product1", "act1"}));
}

TEST(Expose, LeavesNarrowingCastsAlone) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {8}}, Normal{0, 1});
  const ValueId narrow = b.node(Cast{Dtype::f16}, {x}, "narrow");
  const ValueId wide = b.node(Cast{Dtype::f32}, {narrow}, "wide");
  b.output(
      b.node(Add{}, {wide, b.node(Mul{}, {wide, b.node(Cast{Dtype::f32}, {narrow}, "again")}, "m")}, "y"));
  const Graph graph = *b.build();
  EXPECT_EQ(names(graph, values_to_expose(graph, 100)), std::vector<std::string>{"wide"});
  EXPECT_EQ(names(graph, all_inner_values(graph)), (std::vector<std::string>{"wide", "again", "m"}));
}

TEST(Expose, KeepsTheNumbersOfValues) {
  const Case test_case = deep_case(3);
  const std::vector<ValueId> values = values_to_expose(test_case.graph, 100);
  const Graph exposed = expose(test_case, values).graph;
  EXPECT_EQ(exposed.outputs().size(), values.size() + 1);
  for (ValueId v = 0; v < exposed.value_count(); ++v) EXPECT_EQ(exposed.name(v), test_case.graph.name(v));
  for (const ValueId v : values) EXPECT_TRUE(exposed.is_observed(v));
}

TEST(Divide, HasEveryNodeOnceInAnOrderThatRuns) {
  const Case test_case = deep_case(3);
  for (int64_t most = 0; most < 8; ++most) {
    const Graph graph = expose(test_case, values_to_expose(test_case.graph, most)).graph;
    auto program = Opaque().compile(graph, {});
    const Plan plan = divide(graph, (*program)->plan());
    std::vector<bool> known(static_cast<size_t>(graph.value_count()));
    std::fill_n(known.begin(), graph.source_count(), true);
    size_t nodes = 0;
    for (const Region& region : plan.regions) {
      for (const ValueId v : region.inputs) EXPECT_TRUE(known[static_cast<size_t>(v)]) << graph.name(v);
      for (const ValueId v : region.outputs) known[static_cast<size_t>(v)] = true;
      for (const ValueId v : region.outputs) EXPECT_TRUE(graph.is_observed(v));
      nodes += region.nodes.size();
    }
    EXPECT_EQ(nodes, graph.nodes().size());
    EXPECT_EQ(plan.regions.size() > 1, most > 0);
  }
}

// p is read inside its own region and by q, whose result the same region reads again: they are one.
TEST(Divide, JoinsRegionsThatNeedEachOther) {
  Builder b;
  const TensorType type{Dtype::f32, {4}};
  const ValueId x = b.input("x", type, Normal{0, 1});
  const ValueId inner = b.node(Relu{}, {x}, "inner");
  const ValueId p = b.node(Exp{}, {inner}, "p");
  const ValueId q = b.node(Tanh{}, {p}, "q");
  const ValueId y = b.node(Add{}, {inner, q}, "y");
  for (const ValueId v : {p, q, y}) b.output(v);
  const Graph graph = *b.build();
  auto program = Opaque().compile(graph, {});
  const Plan plan = divide(graph, (*program)->plan());
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(plan.regions[0].nodes, (std::vector<int>{0, 1, 2, 3}));
}

TEST(Divide, ReadersMayGetAValueBeforeItsRounding) {
  const Case test_case = deep_case(1);
  const Graph graph = expose(test_case, values_to_expose(test_case.graph, 100)).graph;
  auto program = Opaque().compile(graph, {});
  const Plan plan = divide(graph, (*program)->plan());
  ASSERT_EQ(plan.regions.size(), 3u);  // norm0; product0; act0 and sum0
  EXPECT_TRUE(plan.regions[0].contract.deviations.empty());
  ASSERT_EQ(plan.regions[1].contract.deviations.size(), 1u);
  EXPECT_EQ(to_string(plan.regions[1].contract.deviations[0]), "drop norm0");
}

TEST(Exposing, DecidesWhereTheWholeIsTooDeep) {
  const Case test_case = deep_case(8);
  const Opaque unrounded(sums_unrounded_product(8));
  EXPECT_EQ(judged(test_case, unrounded, 0).verdict, VerdictClass::inconclusive);
  const Verdict exposed = judged(test_case, unrounded);
  EXPECT_EQ(exposed.verdict, VerdictClass::precision_policy);
  EXPECT_FALSE(exposed.finding);
  EXPECT_EQ(exposed.deviations.count("drop product7"), 1u);
  EXPECT_GT(exposed.exposed.size(), 8u);
  EXPECT_TRUE(judged(deep_case(1), Opaque()).exposed.empty());
  EXPECT_EQ(judged(deep_case(1), Opaque(), 2).exposed.size(), 2u);
}

TEST(Exposing, FindsAWrongElementThatTheWholeHides) {
  const Case test_case = deep_case(8);
  const std::string last = "sum7";
  EXPECT_EQ(judged(test_case, Opaque(sets(last, 1e30)), 0).verdict, VerdictClass::inconclusive);
  const Verdict found = judged(test_case, Opaque(sets(last, 1e30)));
  EXPECT_EQ(found.verdict, VerdictClass::defect);
  ASSERT_TRUE(found.failing());
  EXPECT_EQ(found.failing()->worst.value, last);
}

TEST(Exposing, WhatIsToldOfAStepIsOfTheCaseItself) {
  const Case test_case = deep_case(8);
  const auto inner = static_cast<size_t>(*test_case.graph.find("product0"));
  int told = 0;
  RunOptions options;
  options.on_step = [&](int64_t step, const Trace& baseline, const Trace& candidate) {
    ++told;
    EXPECT_EQ(step, 0);
    EXPECT_FALSE(baseline.values[inner]);
    EXPECT_FALSE(candidate.values[inner]);
  };
  const Verdict verdict = run_case(test_case, Opaque(), Opaque(sums_unrounded_product(8)), options);
  EXPECT_FALSE(verdict.exposed.empty());
  EXPECT_EQ(told, 1);
}

// Right alone, wrong as part of the whole: what a compiler that computes an exposed value twice may look
// like.
TEST(Exposing, AFindingMustHoldForThePartAlone) {
  const Case test_case = deep_case(8);
  const auto change = [](const Graph& graph, Trace& trace) {
    if (graph.nodes().size() > 5) sets("sum7", 1e30)(graph, trace);
  };
  const Verdict verdict = judged(test_case, Opaque(change));
  EXPECT_EQ(verdict.verdict, VerdictClass::inconclusive);
  EXPECT_FALSE(verdict.finding);
  EXPECT_TRUE(verdict.exposed.empty());
}

}  // namespace
}  // namespace fusesmith::fuzz
