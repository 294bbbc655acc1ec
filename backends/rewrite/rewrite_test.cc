// The plan law over random graphs, and matches whose shape or contract the pattern laws do not pin down.
#include "backends/rewrite/rewrite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "backends/rewrite/sdpa/sdpa_graphs.h"
#include "graph/philox.h"

namespace fusesmith::backends {
namespace {

using testing::Test;

// Several recipes side by side, with inputs of later ones fed by values of earlier ones where types agree.
Graph random_combination(uint64_t seed) {
  uint64_t counter = 0;
  const auto draw = [&](size_t n) { return philox(seed, 0, counter++)[0] % n; };
  const Dtype dtype = kFloatDtypes[draw(3)];
  std::vector<Graph> parts;
  for (int i = 0; i < 4; ++i) {
    const Pattern& pattern = all_patterns()[draw(all_patterns().size())];
    const auto& recipes = draw(3) == 0 ? pattern.near_misses : pattern.examples;
    const int64_t n = static_cast<int64_t>(1 + draw(4));
    parts.push_back(recipes[draw(recipes.size())].build(dtype, {n, n, 4, 4, 4, 4}));
  }
  Builder b;
  std::vector<std::vector<ValueId>> values(parts.size());
  for (size_t p = 0; p < parts.size(); ++p) {
    for (const Input& input : parts[p].inputs()) {
      values[p].push_back(b.input("p" + std::to_string(p) + "." + input.name, input.type, input.fill));
    }
  }
  const int input_count = b.value_count();
  for (size_t p = 0; p < parts.size(); ++p) {
    for (const State& state : parts[p].states())
      values[p].push_back(b.state("p" + std::to_string(p) + "." + state.name, state.type, state.fill));
  }
  std::vector<ValueId> made;
  for (size_t p = 0; p < parts.size(); ++p) {
    for (ValueId& v : values[p]) {
      for (ValueId other : made) {
        if (v < input_count && b.type(other) == b.type(v) && draw(2) == 0) v = other;
      }
    }
    for (const Node& node : parts[p].nodes()) {
      std::vector<ValueId> inputs;
      for (ValueId v : node.inputs) inputs.push_back(values[p][static_cast<size_t>(v)]);
      const ValueId first = b.node(node.op, inputs);
      for (int i = 0; i < node.output_count; ++i) {
        values[p].push_back(first + i);
        made.push_back(values[p].back());
      }
    }
  }
  int state_count = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    for (const State& state : parts[p].states())
      b.next_state(state_count++, values[p][static_cast<size_t>(state.next)]);
  }
  std::vector<bool> is_output(static_cast<size_t>(b.value_count()), false);
  for (size_t p = 0; p < parts.size(); ++p) {
    for (ValueId v : parts[p].outputs())
      is_output[static_cast<size_t>(values[p][static_cast<size_t>(v)])] = true;
  }
  for (int v = 0; v < b.value_count(); ++v) {
    if (is_output[static_cast<size_t>(v)]) b.output(v);
  }
  auto graph = b.build();
  check(graph.ok(), "random_combination: invalid graph");
  return *graph;
}

void expect_lawful_plan(const Graph& graph, const std::vector<FusedRegion>& regions) {
  std::set<int> seen;
  std::set<ValueId> ready, gone;
  for (ValueId v = 0; v < graph.source_count(); ++v) ready.insert(v);
  for (const FusedRegion& fused : regions) {
    const Region& region = fused.region;
    EXPECT_TRUE(std::is_sorted(region.nodes.begin(), region.nodes.end()));
    for (int n : region.nodes) EXPECT_TRUE(seen.insert(n).second) << "node " << n << " stands in two regions";
    for (ValueId v : region.inputs)
      EXPECT_TRUE(ready.count(v)) << graph.name(v) << " is read before it is computed";
    for (ValueId v : region.outputs) ready.insert(v);
    for (ValueId v : region.inputs)
      EXPECT_FALSE(gone.count(v)) << graph.name(v) << " is read when it is overwritten";
    if (const auto* update = std::get_if<CacheUpdate>(&fused.op)) gone.insert(update->cache);
    EXPECT_FALSE(region.outputs.empty());
    EXPECT_EQ(std::holds_alternative<SingleNode>(fused.op), region.patterns.empty());
  }
  EXPECT_EQ(seen.size(), graph.nodes().size());
  for (ValueId v : graph.outputs()) EXPECT_TRUE(ready.count(v)) << graph.name(v);
}

TEST(Rewrite, CoversRandomGraphs) {
  std::set<std::string> fired;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_combination(seed);
    CompileOptions options;
    for (const Pattern& pattern : all_patterns()) {
      if (philox(seed, 1, hash_name(pattern.name))[0] % 4 == 0)
        options.skip_patterns.emplace_back(pattern.name);
    }
    const auto regions = rewrite(graph, options);
    expect_lawful_plan(graph, regions);
    for (const FusedRegion& fused : regions) {
      for (const std::string& name : fused.region.patterns) {
        EXPECT_EQ(std::count(options.skip_patterns.begin(), options.skip_patterns.end(), name), 0) << name;
        fired.insert(name);
      }
    }
  }
  EXPECT_EQ(fired.size(), all_patterns().size());
}

std::vector<std::string> deviations(const Contract& contract) {
  std::vector<std::string> names;
  for (const Deviation& deviation : contract.deviations) names.push_back(to_string(deviation));
  std::sort(names.begin(), names.end());
  return names;
}

const GraphRecipe& example(std::string_view pattern, std::string_view name) {
  for (const GraphRecipe& recipe : find_pattern(pattern)->examples) {
    if (recipe.name == name) return recipe;
  }
  check(false, "no such example");
  std::abort();
}

TEST(Rewrite, EinsumWithEpilogueListsBothPatterns) {
  const Graph graph = example("gemm_bias_act", "einsum_bias_gelu").build(Dtype::bf16, {});
  const auto regions = rewrite(graph, {});
  EXPECT_EQ(regions[0].region.patterns, (std::vector<std::string>{"gemm_bias_act", "einsum_to_gemm"}));
  EXPECT_EQ(regions[0].region.contract.deviations.size(), 2u);
  CompileOptions options;
  options.skip_patterns = {"einsum_to_gemm"};
  for (const FusedRegion& fused : rewrite(graph, options)) {
    EXPECT_FALSE(std::holds_alternative<FusedGemm>(fused.op));
  }
}

TEST(Rewrite, CompositeAttentionNamesInnerValuesOfItsExpansion) {
  const auto of = [](std::string_view name, Dtype dtype) {
    const Graph graph = example("sdpa", name).build(dtype, {});
    const std::string prefix = graph.nodes()[0].name + "/";
    auto names = deviations(rewrite(graph, {})[0].region.contract);
    for (std::string& text : names) text.erase(text.find(prefix), prefix.size());
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(of("op", Dtype::bf16), (Names{"drop scaled", "drop scores", "move p"}));
  EXPECT_EQ(of("op_additive_mask", Dtype::f16),
            (Names{"drop masked", "drop scaled", "drop scores", "move p"}));
  EXPECT_EQ(of("op_scale_on_both", Dtype::f16),
            (Names{"drop k_scaled", "drop q_scaled", "drop scores", "move p"}));
  EXPECT_EQ(of("op_upcast", Dtype::bf16), Names{});
  EXPECT_EQ(of("op", Dtype::f32), Names{});
}

TEST(Rewrite, OnlineRescalingIsSlackFromTheSecondTileOn) {
  const auto slacks = [](int64_t keys) {
    const Graph graph = example("sdpa", "multi_head").build(Dtype::f32, {1, 1, 3, keys, 4, 4});
    return rewrite(graph, {})[0].region.contract.slacks;
  };
  EXPECT_TRUE(slacks(32).empty());
  ASSERT_EQ(slacks(65).size(), 1u);
  EXPECT_DOUBLE_EQ(slacks(65)[0].relative, 2 * (Arithmetic{}.exp + 2) * kU);
}

// linear_p(x) sigmoid(linear_g(x)): the sigmoid's rounding is the only one that goes.
TEST(Rewrite, GateLeavesItsProductsTheirRounding) {
  ExampleGraph g(Dtype::bf16);
  const ValueId x = g.tensor("x", {3, 8}), p = g.tensor("p", {5, 8}), w = g.tensor("w", {5, 8});
  const ValueId left = g.node(Linear{}, x, p), gate = g.node(Sigmoid{}, g.node(Linear{}, x, w));
  const Graph graph = g.outputs(g.node(Mul{}, left, gate));
  const auto regions = rewrite(graph, {});
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[0].region.patterns, std::vector<std::string>{"merged_qkv"});
  EXPECT_TRUE(regions[0].region.contract.deviations.empty());
  EXPECT_EQ(regions[1].region.patterns, std::vector<std::string>{"gate"});
  EXPECT_EQ(deviations(regions[1].region.contract), std::vector<std::string>{"drop " + graph.name(gate)});
}

TEST(Rewrite, ResidualStaysWithItsNorm) {
  ExampleGraph g(Dtype::bf16);
  const ValueId x = g.tensor("x", {3, 8}), w = g.tensor("w", {8, 8});
  const ValueId sum = g.node(Add{}, x, g.node(Linear{}, x, w));
  const Graph graph = g.outputs(sum, g.node(RmsNorm{}, sum));
  const auto regions = rewrite(graph, {});
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_TRUE(regions[0].region.patterns.empty());
  EXPECT_EQ(regions[1].region.outputs, graph.outputs());
  EXPECT_EQ(deviations(regions[1].region.contract), std::vector<std::string>{"drop " + graph.name(sum)});
}

// q k^T, filled with -inf where a causal_mask of these sizes says so.
struct CausalGraph {
  int64_t queries, keys, mask_rows;
  bool inverted, shared;
  Graph build() const {
    ExampleGraph g(Dtype::f32);
    const Qkv in = qkv(g, {1, 2, queries, keys, 4, 4});
    const ValueId hidden = g.node(CausalMask{mask_rows, keys, CausalAlignment::bottom_right});
    const double kHidden = -std::numeric_limits<double>::infinity();
    const ValueId scores =
        g.node(MaskedFill{kHidden, inverted}, g.node(Matmul{false, true}, in.q, in.k), hidden);
    const ValueId out = g.node(Matmul{}, g.node(Softmax{}, scores), in.v);
    return shared ? g.outputs(out, hidden) : g.outputs(out);
  }
};

const FusedAttention& attention_in(const std::vector<FusedRegion>& regions) {
  return std::get<FusedAttention>(regions.back().op);
}

TEST(Rewrite, CausalMaskIsKnownByItsAttributes) {
  const auto regions = rewrite(CausalGraph{3, 5, 3, false, false}.build(), {});
  EXPECT_EQ(regions.size(), 1u);
  EXPECT_EQ(attention_in(regions).mask.kind, AttentionMask::Kind::causal);
  EXPECT_EQ(attention_in(regions).mask.causal, (CausalMask{3, 5, CausalAlignment::bottom_right}));
}

TEST(Rewrite, SharedCausalMaskStaysOutside) {
  const auto regions = rewrite(CausalGraph{3, 5, 3, false, true}.build(), {});
  EXPECT_EQ(regions.size(), 2u);
  EXPECT_EQ(attention_in(regions).mask.kind, AttentionMask::Kind::causal);
}

// Inverted, it hides the past; with one row for all queries, its diagonal means nothing.
TEST(Rewrite, OtherUsesOfACausalMaskAreBoolean) {
  for (const auto& graph : {CausalGraph{3, 5, 3, true, false}, CausalGraph{3, 5, 1, false, false}}) {
    EXPECT_EQ(attention_in(rewrite(graph.build(), {})).mask.kind, AttentionMask::Kind::boolean);
  }
}

TEST(Rewrite, ScaledInputWithOtherReadersIsReadAsItIs) {
  ExampleGraph g(Dtype::bf16);
  const Qkv in = qkv(g, {});
  const ValueId q = g.node(Scale{0.5}, in.q);
  const ValueId p = g.node(Softmax{}, g.node(Matmul{false, true}, q, in.k));
  const ValueId out = g.node(Matmul{}, p, in.v);
  const auto regions = rewrite(g.outputs(out, q), {});
  EXPECT_FALSE(attention_in(regions).q_scale);
  EXPECT_EQ(attention_in(regions).q.value, q);
}

const BatchedProduct& product_in(const std::vector<FusedRegion>& regions) {
  return std::get<FusedGemm>(regions.back().op).product;
}

// What stands elsewhere is claimed first: an epilogue keeps its product, whose permuted operand stays a node.
TEST(Rewrite, EpiloguesComeBeforeFoldedPermutes) {
  ExampleGraph g(Dtype::f32);
  const ValueId x = g.tensor("x", {5, 3}), w = g.tensor("w", {5, 7});
  const ValueId y = g.node(Relu{}, g.node(Matmul{}, g.node(Permute{{1, 0}}, x), w));
  const auto regions = rewrite(g.outputs(y), {});
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[1].region.patterns, std::vector<std::string>{"gemm_bias_act"});
}

TEST(Rewrite, TransposedOperandIsReadByItsStrides) {
  const Graph graph = example("permute_folding", "transposed_operand").build(Dtype::f32, {2, 1, 3, 5, 7, 1});
  const auto regions = rewrite(graph, {});
  const BatchedProduct& product = product_in(regions);
  EXPECT_EQ(product.b, graph.find("y"));
  ASSERT_EQ(product.n.size(), 1u);
  EXPECT_EQ(product.n[0].b, 7);
  EXPECT_EQ(product.k[0].b, 1);
}

// Heads that were merged behind a permute are two axes of k.
TEST(Rewrite, MergedHeadsAreTwoSummedAxes) {
  const Graph graph =
      example("permute_folding", "heads_merged_into_linear").build(Dtype::f32, {2, 3, 5, 7, 4, 1});
  const auto regions = rewrite(graph, {});
  const BatchedProduct& product = product_in(regions);
  ASSERT_EQ(product.k.size(), 2u);
  EXPECT_EQ(product.k[0].a, 5 * 4);
  EXPECT_EQ(product.k[0].b, 4);
  EXPECT_EQ(product.k[1].a, 1);
}

TEST(Rewrite, UpcastOfTheHalvesIsReadThrough) {
  const Graph graph =
      example("triangle_multiplication", "outgoing_upcast").build(Dtype::bf16, {2, 1, 3, 5, 7, 4});
  const auto regions = rewrite(graph, {});
  const auto& triangle = std::get<TriangleProduct>(regions[0].op);
  EXPECT_EQ(triangle.x, graph.find("x"));
  EXPECT_EQ(triangle.right, 4);
  EXPECT_TRUE(regions[0].region.contract.deviations.empty());
}

// A weight shared by the batch makes one tall matrix of it.
TEST(Rewrite, UnmovedBatchAxesBecomeRows) {
  const Graph graph = example("einsum_to_gemm", "one_weight").build(Dtype::f32, {2, 1, 3, 5, 7, 1});
  const auto regions = rewrite(graph, {});
  const BatchedProduct& product = std::get<FusedGemm>(regions[0].op).product;
  EXPECT_TRUE(product.batch.empty());
  ASSERT_EQ(product.m.size(), 1u);
  EXPECT_EQ(product.m[0].size, 6);
}

// A region cannot read what it makes.
TEST(Rewrite, GradientsOfOneNormAreNotAddedInside) {
  ExampleGraph g(Dtype::f32);
  const ValueId dy = g.tensor("dy", {8}), x = g.tensor("x", {8}), weight = g.tensor("weight", {8});
  const ValueId dx = g.node(LayerNormBackward{}, dy, x, weight);
  const auto regions = rewrite(g.outputs(g.node(Add{}, dx + 2, dx), dx + 1), {});
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_FALSE(std::get<NormBackward>(regions[0].op).addend);
}

TEST(Rewrite, AttentionWhoseValuesAreItsOwnGradient) {
  ExampleGraph g(Dtype::f32);
  const ValueId q = g.tensor("q", {4, 8}), k = g.tensor("k", {4, 8}), dy = g.tensor("dy", {4, 8});
  const ValueId p = g.node(Softmax{}, g.node(Matmul{false, true}, q, k));
  const ValueId dv = g.node(Matmul{true, false}, p, dy);
  const ValueId ds = g.node(SoftmaxBackward{}, g.node(Matmul{false, true}, dy, dv), p);
  const ValueId dq = g.node(Matmul{}, ds, k), dk = g.node(Matmul{true, false}, ds, q);
  for (const FusedRegion& fused : rewrite(g.outputs(dq, dk, dv), {}))
    EXPECT_FALSE(std::holds_alternative<AttentionBackward>(fused.op));
}

}  // namespace
}  // namespace fusesmith::backends
