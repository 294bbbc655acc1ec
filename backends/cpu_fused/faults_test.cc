// Every fault has an effect: on some graph it changes bits, first in a region of its pattern. It changes no
// results of regions of other patterns.
#include "backends/faults.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "backends/cpu_fused/fused_test_support.h"
#include "backends/rewrite/sdpa/sdpa_graphs.h"

namespace fusesmith::backends {
namespace {

// Square, in one tile, in several, with a tile of one query, with K beyond a multiple of 8, with split keys,
// and with more queries than keys.
constexpr ExampleDims kFaultsDims[] = {{2, 2, 4, 4, 4, 4},
                                       {2, 2, 17, 65, 9, 6},
                                       {2, 2, 5, 7, 300, 6},
                                       {2, 4, 3, 200, 8, 6},
                                       {2, 2, 21, 19, 9, 12}};

// Scores so negative that their exponentials underflow.
Graph very_negative_scores(Dtype dtype, const ExampleDims& d) {
  ExampleGraph g(dtype);
  const Qkv in = qkv(g, d);
  const ValueId mask = g.tensor("mask", {1}, Constant{-200});
  return attend(g, g.node(Add{}, scaled_scores(g, in, d), mask), in);
}

Graph every_key_hidden(Dtype dtype, const ExampleDims& d) {
  ExampleGraph g(dtype);
  const Qkv in = qkv(g, d);
  const ValueId hidden = g.mask("hidden", {d.rows, d.cols}, 1);
  const double nothing = -std::numeric_limits<double>::infinity();
  return attend(g, g.node(MaskedFill{nothing}, scaled_scores(g, in, d), hidden), in);
}

// The second half of a longer bias.
Graph sliced_bias(Dtype dtype, const ExampleDims& d) {
  ExampleGraph g(dtype);
  const ValueId x = g.tensor("x", {d.rows, d.depth}), w = g.tensor("w", {d.depth, d.cols}),
                b = g.tensor("b", {2 * d.cols});
  return g.outputs(g.node(Add{}, g.node(Matmul{}, x, w), g.node(Slice{0, d.cols, 2 * d.cols}, b)));
}

// What relu makes of NaN.
Graph relu_of_nan(Dtype dtype, const ExampleDims& d) {
  ExampleGraph g(dtype);
  const ValueId x = g.tensor("x", {d.rows, d.depth}, Special{0.2, true}),
                w = g.tensor("w", {d.depth, d.cols});
  return g.outputs(g.node(Relu{}, g.node(Matmul{}, x, w)));
}

// y - relu(x)
Graph difference_of_inner(Dtype dtype, const ExampleDims& d) {
  ExampleGraph g(dtype);
  const ValueId x = g.tensor("x", {d.rows, d.cols}), y = g.tensor("y", {d.rows, d.cols});
  return g.outputs(g.node(Sub{}, y, g.node(Relu{}, x)));
}

// relu of values kept where the mask is true.
Graph inverted_mask(Dtype dtype, const ExampleDims& d) {
  ExampleGraph g(dtype);
  const ValueId x = g.tensor("x", {d.rows, d.cols}), kept = g.mask("kept", {d.rows, d.cols});
  return g.outputs(g.node(Relu{}, g.node(MaskedFill{1, true}, x, kept)));
}

// Three products of x with different numbers of columns.
Graph unequal_parts(Dtype dtype, const ExampleDims& d) {
  ExampleGraph g(dtype);
  const ValueId x = g.tensor("x", {d.rows, d.depth});
  const int64_t columns[] = {d.cols, 2 * d.cols, d.cols + 1};
  ValueId w[3], b[3], parts[3];
  for (int i = 0; i < 3; ++i) {
    w[i] = g.tensor("w" + std::to_string(i), {columns[i], d.depth});
    b[i] = g.tensor("b" + std::to_string(i), {columns[i]});
  }
  for (int i = 0; i < 3; ++i) parts[i] = g.node(Linear{}, x, w[i], b[i]);
  return g.outputs(parts[0], parts[1], parts[2]);
}

// The queries of one tile see different numbers of tiles of keys.
Graph causal_within_a_tile(Dtype dtype, const ExampleDims&) {
  ExampleGraph g(dtype);
  const Qkv in = qkv(g, {1, 2, 24, 75, 8, 6});
  Sdpa op;
  op.mask = Sdpa::Mask::causal;
  op.alignment = CausalAlignment::bottom_right;
  return g.outputs(g.node(op, in.q, in.k, in.v));
}

// relu of the larger of two values, some of which are NaN.
Graph maximum_of_nan(Dtype dtype, const ExampleDims& d) {
  ExampleGraph g(dtype);
  const ValueId x = g.tensor("x", {d.rows, d.cols}, Special{0.2, true}), y = g.tensor("y", {d.rows, d.cols});
  return g.outputs(g.node(Relu{}, g.node(Maximum{}, x, y)));
}

constexpr GraphRecipe kMore[] = {{"maximum_of_nan", maximum_of_nan},
                                 {"inverted_mask", inverted_mask},
                                 {"unequal_parts", unequal_parts},
                                 {"causal_within_a_tile", causal_within_a_tile},
                                 {"very_negative_scores", very_negative_scores},
                                 {"sliced_bias", sliced_bias},
                                 {"relu_of_nan", relu_of_nan},
                                 {"difference_of_inner", difference_of_inner},
                                 {"every_key_hidden", every_key_hidden}};

// The graph, or the same with each of the layouts.
bool any_form(const Graph& graph, bool laid_out, const std::function<bool(const Graph&)>& f) {
  if (!laid_out) return f(graph);
  return std::any_of(std::begin(kTestLayouts), std::end(kTestLayouts),
                     [&](TestLayout which) { return f(lay_out(graph, which).laid_out); });
}

// Runs f on examples and near misses of the pattern until it returns true; with layouts only if it does not
// without.
bool any_graph(const Pattern& pattern, const std::function<bool(const Graph&)>& f) {
  for (const bool laid_out : {false, true}) {
    for (const auto& recipes : {pattern.examples, pattern.near_misses, std::span<const GraphRecipe>(kMore)}) {
      for (const GraphRecipe& recipe : recipes) {
        for (const ExampleDims& dims : kFaultsDims) {
          for (Dtype dtype : kFloatDtypes) {
            if (any_form(recipe.build(dtype, dims), laid_out, f)) return true;
          }
        }
      }
    }
  }
  return false;
}

bool same_bits(const TensorPtr& a, const TensorPtr& b) { return a && b && a->bytes == b->bytes; }

// The first region of the faulty run that left other bits than the sound one did, in what it made or in a
// source that it should have left alone.
const Region* first_difference(const Graph& graph, const FusedRun& faulty, const FusedRun& sound) {
  const auto sources = std::span(sound.trace.values).first(static_cast<size_t>(graph.source_count()));
  if (const auto lost = overwritten_source(graph, faulty.plan, sources, faulty.trace))
    return &faulty.plan.regions[lost->region];
  for (const Region& region : faulty.plan.regions) {
    for (ValueId v : region.outputs) {
      const size_t i = static_cast<size_t>(v);
      if (sound.trace.values[i] && !same_bits(faulty.trace.values[i], sound.trace.values[i])) return &region;
    }
  }
  return nullptr;
}

class PlantedFault : public testing::TestWithParam<FaultInfo> {};

TEST_P(PlantedFault, IsLiveInItsPattern) {
  const FaultInfo& fault = GetParam();
  const Pattern* pattern = find_pattern(fault.pattern);
  ASSERT_NE(pattern, nullptr) << fault.pattern;
  EXPECT_FALSE(fault.doc.empty());
  EXPECT_TRUE(any_graph(*pattern, [&](const Graph& graph) {
    const auto inputs = draw_inputs(graph);
    const int steps = fault.name.starts_with("stale_state") && !graph.states().empty() ? 2 : 1;
    const FusedRun sound = run_fused_plan(graph, inputs, {}, steps);
    const FusedRun faulty = run_fused_plan(graph, inputs, {std::string(fault.name)}, steps);
    const Region* region = first_difference(graph, faulty, sound);
    if (region) {
      EXPECT_EQ(region->patterns.front(), fault.pattern) << to_string(graph);
    }
    return region != nullptr;
  }));
}

std::vector<FaultInfo> own_faults() {
  std::vector<FaultInfo> own;
  for (const FaultInfo& fault : all_faults()) {
    if (fault.affects("cpu_fused")) own.push_back(fault);
  }
  return own;
}

INSTANTIATE_TEST_SUITE_P(All, PlantedFault, testing::ValuesIn(own_faults()),
                         [](const auto& param_info) { return std::string(param_info.param.name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PlantedFault);  // no faults in a production build

TEST(PlantedFaults, StayInTheirPattern) {
  for (const Pattern& pattern : all_patterns()) {
    std::vector<std::string> others;
    for (const FaultInfo& fault : all_faults()) {
      if (fault.pattern != pattern.name) others.emplace_back(fault.name);
    }
    for (const GraphRecipe& recipe : pattern.examples) {
      SCOPED_TRACE(recipe.name);
      const Graph graph = recipe.build(Dtype::bf16, kFaultsDims[1]);
      const auto inputs = draw_inputs(graph);
      const FusedRun faulty = run_fused_plan(graph, inputs, others), sound = run_fused_plan(graph, inputs);
      EXPECT_EQ(first_difference(graph, faulty, sound), nullptr);
    }
  }
}

TEST(PlantedFaults, AreAtLeastTwelveWhereBuilt) {
  if (kFaultsBuilt) {
    EXPECT_GE(own_faults().size(), 12u);
  } else {
    EXPECT_TRUE(all_faults().empty());
    EXPECT_FALSE(Faults({"no_rescale"}).has("no_rescale"));
  }
}

}  // namespace
}  // namespace fusesmith::backends
