// Corners of single kernels: exact products, NaN and infinities in attention, statistics of long and constant
// rows.
#include <gtest/gtest.h>

#include <limits>

#include "backends/cpu_fused/fused_test_support.h"
#include "backends/rewrite/sdpa/sdpa_graphs.h"

namespace fusesmith::backends {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Small integers: every order of summation gives the same bits.
TEST(FusedGemm, IsExactOnALattice) {
  const Fill lattice = Lattice{8, 0};
  for (const int64_t depth : {1, 7, 8, 127, 128, 129, 300}) {
    ExampleGraph g(Dtype::f32);
    const ValueId x = g.tensor("x", {2, 70, depth}, lattice), w = g.tensor("w", {2, depth, 37}, lattice);
    const ValueId bias = g.tensor("bias", {37}, lattice);
    const Graph graph = g.outputs(g.node(Relu{}, g.node(Add{}, g.node(Einsum{"bid,bdh->bih"}, x, w), bias)));
    const auto inputs = draw_inputs(graph);
    EXPECT_EQ(output_mismatch(graph, inputs, 0), "");
  }
}

// Parts narrower and wider than a panel, some without a bias.
TEST(MergedProduct, IsExactOnALattice) {
  const Fill lattice = Lattice{8, 0};
  for (const int64_t depth : {1, 7, 129}) {
    ExampleGraph g(Dtype::f32);
    const ValueId x = g.tensor("x", {2, 9, depth}, lattice), a = g.tensor("a", {5, depth}, lattice),
                  b = g.tensor("b", {37, depth}, lattice), c = g.tensor("c", {1, depth}, lattice);
    const ValueId bias = g.tensor("bias", {37}, lattice);
    const ValueId first = g.node(Linear{}, x, a), second = g.node(Linear{}, x, b, bias);
    const Graph graph = g.outputs(first, second, g.node(Linear{}, x, c));
    const auto inputs = draw_inputs(graph);
    EXPECT_EQ(run_fused_plan(graph, inputs).plan.regions.size(), 1u);
    EXPECT_EQ(output_mismatch(graph, inputs, 0), "");
  }
}

TEST(MultiplyReduce, IsExactOnALattice) {
  const Fill lattice = Lattice{8, 0};
  for (const int64_t depth : {1, 7, 8, 9, 300}) {
    ExampleGraph g(Dtype::f32);
    const ValueId x = g.tensor("x", {3, depth}, lattice), y = g.tensor("y", {depth, 3}, lattice);
    const Graph graph = g.outputs(g.node(Einsum{"ij,ji->i"}, x, y));
    const auto inputs = draw_inputs(graph);
    EXPECT_EQ(output_mismatch(graph, inputs, 0), "");
  }
}

struct AttentionData {
  Graph graph;
  std::vector<TensorPtr> inputs;  // q, k, v, mask [rows, cols]
  // A copy of an input that may be changed.
  Tensor& edit(size_t input) {
    auto copy = std::make_shared<Tensor>(*inputs[input]);
    Tensor& tensor = *copy;
    inputs[input] = std::move(copy);
    return tensor;
  }
  void expect_near_definition(double tolerance = 1e-5) {
    EXPECT_EQ(output_mismatch(graph, inputs, tolerance), "");
  }
};

AttentionData masked_attention(Fill mask_fill = Constant{0}, Fill fill = Normal{}) {
  const ExampleDims d{1, 1, 18, 70, 8, 20};
  ExampleGraph g(Dtype::f32);
  const Qkv in{g.tensor("q", {18, 8}, fill), g.tensor("k", {70, 8}, fill), g.tensor("v", {70, 20})};
  const ValueId mask = g.tensor("mask", {18, 70}, std::move(mask_fill));
  const Graph graph = attend(g, g.node(Add{}, scaled_scores(g, in, d), mask), in);
  return {graph, draw_inputs(graph)};
}

TEST(FusedAttention, FullyMaskedRowIsNaN) {
  AttentionData data = masked_attention();
  for (int64_t j = 0; j < 70; ++j) data.edit(3).set(5 * 70 + j, -kInfinity);
  data.expect_near_definition();
  EXPECT_TRUE(std::isnan(run_fused_plan(data.graph, data.inputs).trace.values.back()->value(5 * 20)));
}

// The first tiles hold no visible key, so the running maximum is still -inf when a visible one comes.
TEST(FusedAttention, MaximumComesInTheLastTile) {
  AttentionData data = masked_attention();
  for (int64_t j = 0; j < 69; ++j) data.edit(3).set(3 * 70 + j, -kInfinity);
  data.expect_near_definition();
}

TEST(FusedAttention, MaximumMovesFromTileToTile) {
  AttentionData data = masked_attention();
  for (int64_t i = 0; i < 18; ++i) {
    for (int64_t j = 0; j < 70; ++j) data.edit(3).set(i * 70 + j, static_cast<double>(i % 2 ? j : 70 - j));
  }
  data.expect_near_definition();
}

TEST(FusedAttention, HugeScoresOfEitherSignStayFinite) {
  for (double shift : {-3e4, 3e4}) masked_attention(Constant{shift}).expect_near_definition(1e-2);
}

TEST(FusedAttention, NaNAndInfinityAreWhereTheDefinitionHasThem) {
  for (const double special : {kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    for (const int64_t key : {0, 40, 69}) {
      AttentionData data = masked_attention();
      data.edit(3).set(7 * 70 + key, special);  // one row becomes NaN
      const auto trace = run_fused_plan(data.graph, data.inputs).trace;
      for (int64_t i = 0; i < 18 * 20; ++i)
        EXPECT_EQ(std::isnan(trace.values.back()->value(i)), i / 20 == 7) << i;
    }
  }
}

// 0 times infinity: a hidden key whose value is not finite spoils its column, as the two products apart would
// have it.
TEST(FusedAttention, HiddenInfinityIsNotSkipped) {
  AttentionData data = masked_attention();
  for (int64_t i = 0; i < 18; ++i) data.edit(3).set(i * 70 + 50, -kInfinity);
  data.edit(2).set(50 * 20 + 4, kInfinity);
  const auto trace = run_fused_plan(data.graph, data.inputs).trace;
  for (int64_t i = 0; i < 18 * 20; ++i)
    EXPECT_EQ(std::isnan(trace.values.back()->value(i)), i % 20 == 4) << i;
}

// Constant scores: every probability is 2^-6 and the output a mean, exactly.
TEST(FusedAttention, IsExactOnConstantRows) {
  ExampleGraph g(Dtype::bf16);
  const Fill zeros = Constant{0};
  const Qkv in{g.tensor("q", {17, 8}, zeros), g.tensor("k", {64, 8}, zeros),
               g.tensor("v", {64, 24}, Lattice{1, 0})};
  const Graph graph = attend(g, g.node(Matmul{false, true}, in.q, in.k), in);
  const auto inputs = draw_inputs(graph);
  EXPECT_EQ(output_mismatch(graph, inputs, 0), "");
}

TEST(WelfordNorm, LongRowsWithALargeMean) {
  for (const int64_t n : {1, 2, 7, 8, 9, 1000, 4096}) {
    ExampleGraph g(Dtype::f32);
    const Graph graph = g.outputs(g.node(LayerNorm{}, g.tensor("x", {3, n}, Normal{100, 1})));
    const auto inputs = draw_inputs(graph);
    EXPECT_EQ(output_mismatch(graph, inputs, 2e-3), "");
  }
}

TEST(WelfordNorm, ConstantRowsAreZero) {
  ExampleGraph g(Dtype::f32);
  const Graph graph = g.outputs(g.node(LayerNorm{}, g.tensor("x", {2, 64}, Constant{0.5})));
  const auto run = run_fused_plan(graph, draw_inputs(graph));
  for (int64_t i = 0; i < 128; ++i) EXPECT_EQ(run.trace.values.back()->value(i), 0);
}

TEST(WelfordNorm, OneNaNSpoilsItsRow) {
  ExampleGraph g(Dtype::f32);
  const Graph graph = g.outputs(g.node(LayerNorm{}, g.tensor("x", {3, 20})));
  auto inputs = draw_inputs(graph);
  auto x = std::make_shared<Tensor>(*inputs[0]);
  x->set(20 + 13, std::numeric_limits<double>::quiet_NaN());
  inputs[0] = x;
  const auto run = run_fused_plan(graph, inputs);
  for (int64_t i = 0; i < 60; ++i) EXPECT_EQ(std::isnan(run.trace.values.back()->value(i)), i / 20 == 1);
}

// In bf16, 1 + 2^-9 is 1: so it is stored. The norm sees that the row is not constant.
TEST(AddNorm, ReadsTheUnroundedSum) {
  ExampleGraph g(Dtype::bf16);
  const ValueId x = g.tensor("x", {1, 2}, Constant{1}), y = g.tensor("y", {1, 2}, OneHot{0, 0x1p-9});
  const ValueId sum = g.node(Add{}, x, y);
  const Graph graph = g.outputs(sum, g.node(LayerNorm{1e-12}, sum));
  const auto values = run_fused_plan(graph, draw_inputs(graph)).trace.values;
  EXPECT_EQ(values[2]->value(0), 1);
  EXPECT_EQ(values[3]->value(0), 1);
  EXPECT_EQ(values[3]->value(1), -1);
}

TEST(AddNorm, OneNaNSpoilsItsRow) {
  for (const bool rms : {false, true}) {
    ExampleGraph g(Dtype::f32);
    const ValueId x = g.tensor("x", {3, 20}), y = g.tensor("y", {3, 20});
    const ValueId sum = g.node(Add{}, x, y);
    const Graph graph = g.outputs(sum, g.node(rms ? Op(RmsNorm{}) : Op(LayerNorm{}), sum));
    auto inputs = draw_inputs(graph);
    auto spoilt = std::make_shared<Tensor>(*inputs[1]);
    spoilt->set(20 + 13, std::numeric_limits<double>::quiet_NaN());
    inputs[1] = spoilt;
    const auto values = run_fused_plan(graph, inputs).trace.values;
    for (int64_t i = 0; i < 60; ++i) {
      EXPECT_EQ(std::isnan(values[2]->value(i)), i == 33) << i;
      EXPECT_EQ(std::isnan(values[3]->value(i)), i / 20 == 1) << i;
    }
  }
}

// x * y needs more than 8 bits: its rounding to bf16 is asked for, so the chain performs it.
TEST(PointwiseChain, PerformsExplicitCasts) {
  ExampleGraph g(Dtype::f32);
  const ValueId x = g.tensor("x", {1}, Constant{1.0078125}), y = g.tensor("y", {1}, Constant{1.0078125});
  const ValueId narrow = g.node(Cast{Dtype::bf16}, g.node(Mul{}, x, y));
  const Graph graph = g.outputs(g.node(Scale{1}, g.node(Cast{Dtype::f32}, narrow)));
  EXPECT_EQ(run_fused_plan(graph, draw_inputs(graph)).trace.values.back()->value(0), 1.015625);
}

// In bf16, 1 + 2^-9 is 1, unless the sum stays in f32 until 1 is subtracted.
TEST(PointwiseChain, KeepsImplicitValuesInF32) {
  ExampleGraph g(Dtype::bf16);
  const ValueId one = g.tensor("one", {1}, Constant{1}), small = g.tensor("small", {1}, Constant{0x1p-9});
  const Graph graph = g.outputs(g.node(Sub{}, g.node(Add{}, one, small), one));
  EXPECT_EQ(run_fused_plan(graph, draw_inputs(graph)).trace.values.back()->value(0), 0x1p-9);
}

// The steps of a formula stand in the chain: one region. In f32 nothing is rounded in between, so that its
// values are those of the nodes, one by one.
TEST(PointwiseChain, ContainsTheStepsOfFormulas) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    ExampleGraph g(dtype);
    const ValueId x = g.tensor("x", {33, 40}), y = g.tensor("y", {33, 40});
    const ValueId gate = g.node(Mish{}, g.node(Scale{0.5}, x));
    const Graph graph = g.outputs(g.node(Add{}, g.node(SiluBackward{}, y, gate), y));
    const auto inputs = draw_inputs(graph);
    const auto run = run_fused_plan(graph, inputs);
    ASSERT_EQ(run.plan.regions.size(), 1u);
    EXPECT_EQ(run.plan.regions[0].contract.deviations.size(), dtype == Dtype::f32 ? 0u : 3u);
    EXPECT_EQ(output_mismatch(graph, inputs, dtype == Dtype::f32 ? 1e-5 : 0.02), "");
  }
}

}  // namespace
}  // namespace fusesmith::backends
