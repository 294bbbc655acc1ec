// Attention with few queries and long keys: which keys a split has, and what the combination makes of splits.
#include "backends/cpu_fused/key_splits.h"

#include <gtest/gtest.h>

#include <limits>

#include "backends/cpu_fused/fused_test_support.h"
#include "backends/rewrite/kernel_tiles.h"
#include "backends/rewrite/sdpa/sdpa_graphs.h"

namespace fusesmith::backends {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

KeySplits splits_for(int64_t queries, int64_t keys) {
  FusedAttention attention;
  attention.queries = queries;
  attention.keys = keys;
  return key_splits(attention);
}

TEST(KeySplits, OnlyFewQueriesHaveTheirKeysSplit) {
  EXPECT_EQ(splits_for(1, 64).count, 1);
  EXPECT_EQ(splits_for(kFewQueries, 65).count, 2);
  EXPECT_EQ(splits_for(kFewQueries + 1, 65).count, 1);
  EXPECT_EQ(splits_for(1, 512).count, 8);
  EXPECT_EQ(splits_for(1, 512).tiles, 2);
  EXPECT_EQ(splits_for(1, 513).tiles, 3);
  EXPECT_EQ(splits_for(1, 513).count, 6);
}

TEST(KeySplits, AreTheDeclaredTiles) {
  const FusedAttention attention;
  EXPECT_EQ(attention.query_tile, cpu_tile("sdpa", "queries"));
  EXPECT_EQ(attention.key_tile, cpu_tile("sdpa", "keys"));
  EXPECT_EQ(attention.key_tile * kLeastSplitTiles, cpu_tile("sdpa", "keys of a split"));
}

struct Attention {
  Graph graph;
  std::vector<TensorPtr> inputs;  // q, k, v, mask [queries, keys]

  Tensor& mask() {
    auto copy = std::make_shared<Tensor>(*inputs[3]);
    Tensor& tensor = *copy;
    inputs[3] = std::move(copy);
    return tensor;
  }
};

Attention attention_of(Dtype dtype, int64_t queries, int64_t keys, Fill fill = Normal{}) {
  ExampleGraph g(dtype);
  const Qkv in{g.tensor("q", {queries, 12}, fill), g.tensor("k", {keys, 12}, fill),
               g.tensor("v", {keys, 20}, dtype == Dtype::f32 ? Fill(Normal{}) : Fill(Lattice{1, 0}))};
  const ValueId mask = g.tensor("mask", {queries, keys}, Constant{0});
  const Graph graph = attend(g, g.node(Add{}, g.node(Matmul{false, true}, in.q, in.k), mask), in);
  return {graph, draw_inputs(graph)};
}

TEST(SplitKeys, AgreeWithTheDefinition) {
  for (const int64_t queries : {1, 3, 4}) {
    for (const int64_t keys : {65, 96, 129, 513, 1030}) {
      const Attention data = attention_of(Dtype::f32, queries, keys);
      EXPECT_EQ(output_mismatch(data.graph, data.inputs, 2e-5), "") << queries << " " << keys;
    }
  }
}

// Each split in turn has the only visible keys, or the largest scores by far.
TEST(SplitKeys, TheMaximumMayBeInAnySplit) {
  for (const double elsewhere : {kHidden, -300.0}) {
    for (int64_t split = 0; split < 5; ++split) {
      Attention data = attention_of(Dtype::f32, 2, 300);
      Tensor& mask = data.mask();
      for (int64_t i = 0; i < 2 * 300; ++i) {
        if (i % 300 / 64 != split) mask.set(i, elsewhere);
      }
      EXPECT_EQ(output_mismatch(data.graph, data.inputs, 2e-5), "") << split;
    }
  }
}

TEST(SplitKeys, NoVisibleKeyInAnySplitIsNaN) {
  Attention data = attention_of(Dtype::f32, 2, 300);
  Tensor& mask = data.mask();
  for (int64_t j = 0; j < 300; ++j) mask.set(300 + j, kHidden);
  const auto trace = run_fused_plan(data.graph, data.inputs).trace;
  for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(std::isnan(trace.values.back()->value(i)), i >= 20) << i;
}

// Constant scores: the mean of 2^9 values, exactly.
TEST(SplitKeys, AreExactOnConstantRows) {
  const Attention data = attention_of(Dtype::bf16, 3, 512, Constant{0});
  EXPECT_EQ(output_mismatch(data.graph, data.inputs, 0), "");
}

}  // namespace
}  // namespace fusesmith::backends
