#include "backends/common/run_plan.h"

#include <gtest/gtest.h>

#include "backends/common/run_node.h"

namespace fusesmith::backends {
namespace {

// x -> relu -> scale -> outputs; the region of both nodes keeps relu's value to itself.
Graph two_nodes() {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {2}}, Normal{});
  b.output(b.node(Scale{2}, {b.node(Relu{}, {x}, "inner")}, "y"));
  return *b.build();
}

TensorPtr make(const TensorType& type, std::vector<float> values) {
  return std::make_shared<const Tensor>(from_f32(values, type));
}

TEST(RunPlan, KeepsRegionOutputsAlone) {
  const Graph graph = two_nodes();
  const Plan plan{{make_region(graph, {0, 1})}, {}};
  const TensorPtr x = make(graph.type(0), {-1, 3});
  LayoutRuns layouts;
  const Trace trace =
      run_plan(graph, plan, {&x, 1}, layouts, [&](const Region& region, std::span<TensorPtr> values) {
        for (int node : region.nodes) run_node(graph, node, values);
        EXPECT_NE(values[1], nullptr);
      });
  ASSERT_EQ(trace.values.size(), 3u);
  EXPECT_EQ(trace.values[0], x);
  EXPECT_EQ(trace.values[1], nullptr);
  EXPECT_EQ(to_f32(*trace.values[2]), (std::vector<float>{0, 6}));
}

TEST(RunPlan, RunsRegionsInThePlansOrder) {
  const Graph graph = two_nodes();
  const Plan plan{{make_region(graph, {0}), make_region(graph, {1})}, {}};
  const TensorPtr x = make(graph.type(0), {-1, 3});
  LayoutRuns layouts;
  std::vector<int> order;
  const Trace trace =
      run_plan(graph, plan, {&x, 1}, layouts, [&](const Region& region, std::span<TensorPtr> values) {
        order.push_back(region.nodes.front());
        run_node(graph, region.nodes.front(), values);
      });
  EXPECT_EQ(order, (std::vector<int>{0, 1}));
  EXPECT_EQ(to_f32(*trace.values[1]), (std::vector<float>{0, 3}));
}

TEST(RunPlanDeathTest, MissingOutputsAndWrongInputsAbort) {
  const Graph graph = two_nodes();
  const Plan plan{{make_region(graph, {0, 1})}, {}};
  const auto idle = [](const Region&, std::span<TensorPtr>) {};
  LayoutRuns layouts;
  const TensorPtr x = make(graph.type(0), {1, 2}), wrong = make({Dtype::f32, {1}}, {1});
  EXPECT_DEATH(run_plan(graph, plan, {&x, 1}, layouts, idle), "region output is missing");
  EXPECT_DEATH(run_plan(graph, plan, {&wrong, 1}, layouts, idle), "input is missing or of another type");
  EXPECT_DEATH(run_plan(graph, plan, {}, layouts, idle), "wrong number of inputs");
}

}  // namespace
}  // namespace fusesmith::backends
