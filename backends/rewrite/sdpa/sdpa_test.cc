// What sdpa takes in, what it leaves outside, and which guard refuses what.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "backends/rewrite/rewrite.h"
#include "backends/rewrite/sdpa/sdpa_graphs.h"

namespace fusesmith::backends {
namespace {

const Pattern& sdpa() { return *find_pattern("sdpa"); }

std::set<std::string> refusing_guards(const Graph& graph) {
  std::vector<Refusal> refusals;
  rewrite(graph, {}, {}, &refusals);
  std::set<std::string> guards;
  for (const Refusal& refusal : refusals) {
    if (refusal.pattern == "sdpa") guards.insert(refusal.guard);
  }
  return guards;
}

TEST(Sdpa, AGuardRefusesEveryNearMissAndEachIsNeeded) {
  std::set<std::string> named;
  for (const GraphRecipe& recipe : sdpa().near_misses) {
    for (const ExampleDims& dims : {ExampleDims{}, ExampleDims{1, 1, 1, 1, 1, 1}}) {
      const auto guards = refusing_guards(recipe.build(Dtype::f32, dims));
      EXPECT_FALSE(guards.empty()) << recipe.name;
      named.insert(guards.begin(), guards.end());
    }
  }
  EXPECT_EQ(named, std::set<std::string>(sdpa().guards.begin(), sdpa().guards.end()));
}

TEST(Sdpa, OtherProductsOfASoftmaxAreNotRefused) {
  ExampleGraph g(Dtype::f32);
  const ValueId x = g.tensor("x", {4, 5}), y = g.tensor("y", {5, 3});
  EXPECT_EQ(refusing_guards(g.outputs(g.node(Matmul{}, g.node(Softmax{}, g.node(Relu{}, x)), y))),
            std::set<std::string>());
}

const FusedAttention& attention_in(const std::vector<FusedRegion>& regions) {
  return std::get<FusedAttention>(regions.back().op);
}

// Query head h = 3 i + j reads head i of k: groups are an axis along which k does not move.
TEST(Sdpa, GroupedHeadsAreTwoAxes) {
  ExampleGraph g(Dtype::f32);
  const Qkv in = grouped_qkv(g, {2, 4, 5, 7, 8, 6}, 3);
  const Qkv repeated = {in.q, repeat_heads(g, in.k, 3), repeat_heads(g, in.v, 3)};
  const auto regions = rewrite(attend(g, scaled_scores(g, repeated, {}), repeated), {});
  ASSERT_EQ(regions.size(), 1u);
  const FusedAttention& attention = attention_in(regions);
  EXPECT_EQ(attention.batch, (Shape{2, 4, 3}));
  EXPECT_EQ(attention.q.batch_strides, (Shape{12 * 40, 3 * 40, 40}));
  EXPECT_EQ(attention.k.batch_strides, (Shape{4 * 56, 56, 0}));
  EXPECT_EQ(attention.v.batch_strides, (Shape{4 * 42, 42, 0}));
}

// Head h of q would read head h % 2: the repeat is another, and stays outside.
TEST(Sdpa, TiledHeadsStayOutside) {
  ExampleGraph g(Dtype::f32);
  const Qkv in = grouped_qkv(g, {2, 2, 5, 7, 8, 6}, 3);
  const auto tiled = [&](ValueId value, int64_t columns) {
    const ValueId repeated = g.node(BroadcastTo{{2, 3, 2, 7, columns}}, g.node(Unsqueeze{1}, value));
    return g.node(Reshape{{2, 6, 7, columns}}, repeated);
  };
  const Qkv all = {in.q, tiled(in.k, 8), tiled(in.v, 6)};
  const auto regions = rewrite(attend(g, scaled_scores(g, all, {}), all), {});
  EXPECT_EQ(regions.size(), 7u);
  EXPECT_EQ(attention_in(regions).batch, (Shape{2, 6}));
  EXPECT_EQ(attention_in(regions).k.value, all.k);
}

TEST(Sdpa, KeysAndValuesOfDifferentGroups) {
  ExampleGraph g(Dtype::f32);
  const ValueId q = g.tensor("q", {1, 4, 5, 8}), k = g.tensor("k", {1, 2, 7, 8}),
                v = g.tensor("v", {1, 1, 7, 6});
  const Qkv all = {q, repeat_heads(g, k, 2), repeat_heads(g, v, 4)};
  const auto regions = rewrite(attend(g, scaled_scores(g, all, {}), all), {});
  EXPECT_EQ(attention_in(regions).k.value, k);
  EXPECT_EQ(attention_in(regions).v.value, all.v);
}

// A mask worked out in the graph is read like any other.
TEST(Sdpa, AdditiveMaskMadeOfABooleanOne) {
  ExampleGraph g(Dtype::bf16);
  const Qkv in = qkv(g, {});
  const ValueId zeros = g.tensor("zeros", {5, 7}, Constant{0});
  const double hidden = -std::numeric_limits<double>::infinity();
  const ValueId mask = g.node(MaskedFill{hidden}, zeros, g.mask("m", {5, 7}));
  const auto regions = rewrite(attend(g, g.node(Add{}, mask, scaled_scores(g, in, {})), in), {});
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(attention_in(regions).mask.kind, AttentionMask::Kind::additive);
  EXPECT_EQ(attention_in(regions).mask.mask.value, mask);
}

TEST(Sdpa, DeclaresTheRoundingOfCappedScores) {
  for (const char* name : {"softcap", "op_softcap"}) {
    for (const GraphRecipe& recipe : sdpa().examples) {
      if (recipe.name != name) continue;
      const auto regions = rewrite(recipe.build(Dtype::bf16, {}), {});
      EXPECT_EQ(regions[0].region.contract.deviations.size(), 4u) << name;  // scores, scaled, capped, p
      EXPECT_TRUE(rewrite(recipe.build(Dtype::f32, {}), {})[0].region.contract.deviations.empty());
    }
  }
}

}  // namespace
}  // namespace fusesmith::backends
