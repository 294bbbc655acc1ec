// Isolation: own backends pass with every op and pattern, and a program that lets rows see each other does
// not.
#include "fuzz/run/isolation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fuzz/run/backends.h"
#include "fuzz/run/metamorphic_test.h"

namespace fusesmith::fuzz {
namespace {

class Isolation : public OnBackend {};

TEST_P(Isolation, RowsKeepTheirBitsBesideOthers) {
  Choices choices(11, 0, 0);
  int checked = 0;
  int64_t compared = 0;
  for (const auto& [label, graph] : graphs_of_all()) {
    if (!graph.states().empty()) continue;
    SCOPED_TRACE(label);
    const auto program = std::move(*backend_->compile(graph, {}));
    const Inputs inputs = inputs_of(graph, 4);
    const Trace before = program->run(inputs);
    for (int i = 0; i < 4; ++i) {
      const auto replacement = draw_replacement(graph, false, choices);
      if (!replacement) continue;
      const Replaced replaced = replaced_inputs(graph, inputs, *replacement);
      const Reach reach = reach_of(graph, inputs, replaced.inputs);
      if (!leaves_any(program->plan(), reach)) continue;
      const MetamorphicCheck check = check_isolation(*program, graph, before, replaced, reach);
      EXPECT_FALSE(check.broken) << graph.name(check.broken->value) << "[" << check.broken->element << "] is "
                                 << check.broken->second << " with " << check.broken->change;
      ++checked;
      compared += check.compared;
    }
  }
  EXPECT_GT(checked, 700);
  EXPECT_GT(compared, 50000);
}

INSTANTIATE_TEST_SUITE_P(All, Isolation, testing::Values("cpu", "cpu_fused", "cuda", "cuda_fused"),
                         [](const auto& param_info) { return std::string(param_info.param); });

Graph softmax_graph() {
  Builder b;
  b.output(b.node(Softmax{}, {b.input("x", {Dtype::f32, {4, 6}}, Normal{})}, "y"));
  return *b.build();
}

TEST(IsolationFaults, ARowThatSeesNanOfAnotherIsFound) {
  const Graph graph = softmax_graph();
  const Inputs inputs = inputs_of(graph, 1);
  Tensor changed = *inputs[0];
  changed.set(13, std::nan(""));
  const Replaced replaced{{std::make_shared<const Tensor>(std::move(changed))}, "NaN in x[2,1]"};
  const Reach reach = reach_of(graph, inputs, replaced.inputs);
  double noise = 0, more_noise = 0;
  Changed program(graph, [&](Tensor& result) {  // 0 times the sum of all results is added to each
    double sum = 0;
    for (int64_t i = 0; i < result.size(); ++i) sum += result.value(i);
    for (int64_t i = 0; i < result.size(); ++i) result.set(i, result.value(i) + 0 * sum + noise);
    noise += more_noise;
  });
  Trace before = program.run(inputs);
  const MetamorphicCheck check = check_isolation(program, graph, before, replaced, reach);
  EXPECT_EQ(check.compared, 18) << "all but the row of the NaN";
  ASSERT_TRUE(check.broken);
  EXPECT_EQ(check.broken->element, 0);
  EXPECT_EQ(check.broken->first, before.values[1]->value(0));
  EXPECT_TRUE(std::isnan(check.broken->second));
  EXPECT_EQ(check.broken->change, "NaN in x[2,1]");
  more_noise = 0.25;
  before = program.run(inputs);
  EXPECT_FALSE(check_isolation(program, graph, before, replaced, reach).broken)
      << "it gives other bits on the same inputs, too";
}

TEST(IsolationDraws, ReplaceOneAxisInEveryInputThatHasIt) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {4, 6}}, Normal{}),
                y = b.input("y", {Dtype::bf16, {6}}, Normal{});
  const ValueId wide = b.node(Cast{Dtype::f32}, {y});
  b.output(b.node(Add{}, {x, wide}));
  const Graph graph = *b.build();
  const Inputs inputs = inputs_of(graph, 1);
  Choices choices(3, 0, 0);
  int rows = 0, columns = 0;
  for (int i = 0; i < 40; ++i) {
    const auto replacement = draw_replacement(graph, false, choices);
    ASSERT_TRUE(replacement);
    const Replaced replaced = replaced_inputs(graph, inputs, *replacement);
    const auto read = graph::parse_replacement(to_string(*replacement, graph), graph);
    ASSERT_TRUE(read) << read.problem();
    EXPECT_EQ(*read, *replacement);
    const bool row = replaced.inputs[1] == inputs[1];
    (row ? rows : columns) += 1;
    int64_t changed = 0;
    for (int64_t at = 0; at < 24; ++at) changed += replaced.inputs[0]->value(at) != inputs[0]->value(at);
    EXPECT_EQ(changed % (row ? 6 : 4), 0) << replaced.change;
    EXPECT_GT(changed, 0) << replaced.change;
    EXPECT_LT(changed, 24) << replaced.change;
  }
  EXPECT_GT(rows, 5);
  EXPECT_GT(columns, 5);
}

TEST(IsolationDraws, LeaveScalarsAndRepeatedAxesAlone) {
  Builder b;
  Input repeated{"x", {Dtype::f32, {4, 1}}, Normal{}};
  repeated.repeat = {0};
  b.output(b.node(Relu{}, {b.input(repeated)}));
  const Graph graph = *b.build();
  Choices choices(3, 0, 0);
  EXPECT_FALSE(draw_replacement(graph, false, choices));
}

}  // namespace
}  // namespace fusesmith::fuzz
