// What a change of the inputs can reach, op by op, and through masks.
#include "fuzz/run/reach.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backends/rewrite/matching/example_graph.h"
#include "fuzz/run/metamorphic_test.h"

namespace fusesmith::fuzz {
namespace {

const double kNan = std::nan("");

Inputs drawn(const Graph& graph) { return inputs_of(graph, 1); }

struct Edit {
  size_t input;
  int64_t element;
  double to;
};

// The places of the last output's elements that the edits reach.
std::vector<int64_t> reached(const Graph& graph, const std::vector<Edit>& edits, Inputs before = {}) {
  if (before.empty()) before = drawn(graph);
  Inputs after = before;
  for (const Edit& edit : edits) {
    Tensor changed = *after[edit.input];
    changed.set(edit.element, edit.to);
    after[edit.input] = std::make_shared<const Tensor>(std::move(changed));
  }
  const Reach reach = reach_of(graph, before, after);
  const auto& marks = reach[static_cast<size_t>(graph.outputs().back())];
  std::vector<int64_t> places;
  for (size_t i = 0; i < marks.size(); ++i) {
    if (marks[i]) places.push_back(static_cast<int64_t>(i));
  }
  return places;
}

using Places = std::vector<int64_t>;

TEST(Reach, OfARowIsItsRow) {
  ExampleGraph g(Dtype::f32);
  const ValueId x = g.tensor("x", {3, 2}), w = g.tensor("w", {4, 2});
  const Graph linear = g.outputs(g.node(Linear{}, x, w));
  EXPECT_EQ(reached(linear, {{0, 2, kNan}}), (Places{4, 5, 6, 7}));
  EXPECT_EQ(reached(linear, {{1, 2, kNan}}), (Places{1, 5, 9})) << "a row of the weight is a column";
  for (const Op& op : {Op(Softmax{}), Op(LayerNorm{}), Op(RmsNorm{})}) {
    ExampleGraph rows(Dtype::bf16);
    const Graph graph = rows.outputs(rows.node(op, rows.tensor("x", {3, 2})));
    EXPECT_EQ(reached(graph, {{0, 3, kInfinity}}), (Places{2, 3})) << to_string(op);
  }
}

TEST(Reach, FollowsElementsThatMove) {
  ExampleGraph g(Dtype::f32);
  const ValueId x = g.tensor("x", {2, 4});
  const ValueId turned = g.node(Permute{{1, 0}}, x), flat = g.node(Reshape{{8}}, turned);
  const Graph graph = g.outputs(g.node(Slice{0, 2, 6, 1}, flat));
  EXPECT_EQ(reached(graph, {{0, 1, 9}}), (Places{0})) << "x[0,1] is turned[1,0], flat[2], the first one kept";
  EXPECT_EQ(reached(graph, {{0, 0, 9}}), Places{});
}

Graph attention(const Sdpa& op, bool with_mask) {
  ExampleGraph g(Dtype::f32);
  const ValueId q = g.tensor("q", {3, 2}), k = g.tensor("k", {3, 2}), v = g.tensor("v", {3, 2});
  if (!with_mask) return g.outputs(g.node(op, q, k, v));
  return g.outputs(g.node(op, q, k, v, g.tensor("mask", {3, 3})));
}

TEST(Reach, OfAKeyEndsWhereItIsHidden) {
  const Graph causal = attention(Sdpa{.mask = Sdpa::Mask::causal}, false);
  EXPECT_EQ(reached(causal, {{1, 4, 0.25}}), (Places{4, 5})) << "the last key is seen by the last query";
  EXPECT_EQ(reached(causal, {{1, 4, kNan}}), (Places{4, 5})) << "its score is replaced before the softmax";
  EXPECT_EQ(reached(causal, {{2, 4, 0.25}}), (Places{4})) << "a column of v, times an exact 0 elsewhere";
  EXPECT_EQ(reached(causal, {{2, 4, kInfinity}}), (Places{0, 2, 4})) << "0 times an infinity is NaN";
}

TEST(Reach, OfAScoreEndsInAnInfinityThatIsAddedToIt) {
  const Graph additive = attention(Sdpa{.mask = Sdpa::Mask::additive}, true);
  Inputs inputs = drawn(additive);
  Tensor mask(inputs[3]->type);
  for (const int64_t hidden : {2, 5}) mask.set(hidden, -kInfinity);  // the last key, from two queries
  inputs[3] = std::make_shared<const Tensor>(std::move(mask));
  EXPECT_EQ(reached(additive, {{1, 4, 0.25}}, inputs), (Places{4, 5}));
  EXPECT_EQ(reached(additive, {{1, 4, kNan}}, inputs), (Places{0, 1, 2, 3, 4, 5})) << "NaN - inf is NaN";
  Tensor large(inputs[3]->type);
  for (const int64_t hidden : {2, 5})
    large.set(hidden, -1e4);  // not hidden: a weight that may be rounded to 0
  inputs[3] = std::make_shared<const Tensor>(std::move(large));
  EXPECT_EQ(reached(additive, {{1, 4, 0.25}}, inputs).size(), 6U);
}

// x [1,2] times [2,1].
Graph weighted(bool computed_weights) {
  ExampleGraph g(Dtype::f32);
  const ValueId x = g.tensor("x", {1, 2}), w = g.tensor("w", {2, 1});
  return g.outputs(g.node(Matmul{}, x, computed_weights ? g.node(Mul{}, w, w) : w));
}

TEST(Reach, AZeroOnlyHidesWhereEveryExecutorHasIt) {
  Inputs inputs = drawn(weighted(false));
  Tensor weights({Dtype::f32, {2, 1}});
  weights.set(1, 3);
  inputs[1] = std::make_shared<const Tensor>(std::move(weights));
  EXPECT_EQ(reached(weighted(false), {{0, 0, 5}}, inputs), Places{}) << "x[0] times 0";
  EXPECT_EQ(reached(weighted(false), {{0, 1, 5}}, inputs), Places{0});
  EXPECT_EQ(reached(weighted(true), {{0, 0, 5}}, inputs), Places{0}) << "a square may be rounded to 0 or not";
}

TEST(Reach, OfDecisionsIsAllThatTheyDecide) {
  ExampleGraph g(Dtype::f32);
  const ValueId x = g.tensor("x", {2, 2}), y = g.tensor("y", {2, 2});
  const Graph maximum = g.outputs(g.node(Maximum{}, x, y));
  EXPECT_EQ(reached(maximum, {{0, 1, -1e9}}), Places{1});
  ExampleGraph h(Dtype::f32);
  const ValueId table = h.tensor("table", {2, 3});
  const ValueId hidden = h.node(MaskedFill{.value = -INFINITY}, table, h.node(CausalMask{2, 3}));
  EXPECT_EQ(reached(h.outputs(hidden), {{0, 1, kNan}, {0, 3, kNan}}), Places{3});
}

}  // namespace
}  // namespace fusesmith::fuzz
