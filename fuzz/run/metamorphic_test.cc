// Metamorphic checks on every backend: all ops and all patterns' examples under scalings by powers of two and
// under exchanged batch elements, heads and rows.
#include "fuzz/run/metamorphic.h"

#include <gtest/gtest.h>

#include <numeric>

#include "fuzz/run/backends.h"
#include "fuzz/run/metamorphic_test.h"

namespace fusesmith::fuzz {
namespace {

std::vector<int64_t> drawn_places(int64_t size, Choices& choices) {
  std::vector<int64_t> places(static_cast<size_t>(size));
  std::iota(places.begin(), places.end(), 0);
  for (int64_t i = size; i-- > 1;)
    std::swap(places[static_cast<size_t>(i)], places[static_cast<size_t>(choices.below(i))]);  // none stays
  return places;
}

std::string text_of(const Graph& graph, const Disagreement& broken) {
  return graph.name(broken.value) + "[" + std::to_string(broken.element) + "] is " +
         number_text(broken.second) + ", expected " + number_text(broken.first);
}

class Metamorphic : public OnBackend {};

TEST_P(Metamorphic, PowersOfTwoScaleWhatTheyShould) {
  Choices choices(7, 0, 0);
  int graphs = 0;
  int64_t compared = 0;
  for (const LabelledGraph& subject : graphs_of_all()) {
    SCOPED_TRACE(subject.label);
    std::optional<Scaling> scaling;
    for (int draws = 0; draws < 8 && !scaling; ++draws) scaling = draw_scaling(subject.graph, choices);
    if (!scaling) continue;
    const auto program = std::move(*backend_->compile(subject.graph, {}));
    const auto unfused = std::move(*find_backend("cpu")->compile(subject.graph, {}));
    const Inputs inputs = inputs_of(subject.graph, 1),
                 scaled = scaled_inputs(subject.graph, inputs, *scaling);
    const auto result =
        check_scaling(program->plan(), subject.graph, {program->run(inputs), program->run(scaled)},
                      {unfused->run(inputs), unfused->run(scaled)}, *scaling);
    EXPECT_FALSE(result.broken) << text_of(subject.graph, *result.broken);
    ++graphs;
    compared += result.compared;
  }
  EXPECT_GT(graphs, 150);
  EXPECT_GT(compared, 20000);
}

TEST_P(Metamorphic, ExchangedElementsStayTheSame) {
  Choices choices(8, 0, 0);
  int bit_for_bit = 0, lawful = 0;
  for (const LabelledGraph& subject : graphs_of_all()) {
    const auto exchanges = exchanges_of(subject.graph);
    if (exchanges.empty()) continue;
    const auto program = std::move(*backend_->compile(subject.graph, {}));
    const Inputs inputs = inputs_of(subject.graph, 2);
    const Trace before = program->run(inputs);
    for (const Exchange& exchange : exchanges) {
      SCOPED_TRACE(subject.label + ", size " + std::to_string(exchange.size));
      const auto places = drawn_places(exchange.size, choices);
      if (exchange.bit_for_bit && promises_exchanged_bits(subject.graph, program->plan())) {
        const auto result = check_exchange(*program, subject.graph, before, exchange, places);
        EXPECT_FALSE(result.broken) << text_of(subject.graph, *result.broken);
        ++bit_for_bit;
        continue;
      }
      const Trace trace = program->run(exchanged_inputs(subject.graph, inputs, exchange, places));
      Execution execution{GetParam(), &program->plan(), &trace, {}};
      const BackendVerdict verdict = judge_backend(subject.graph, execution);
      EXPECT_LE(verdict.verdict, VerdictClass::inconclusive);
      ++lawful;
    }
  }
  EXPECT_GT(bit_for_bit, 150);
  EXPECT_GT(lawful, 100);
}

INSTANTIATE_TEST_SUITE_P(All, Metamorphic, testing::Values("cpu", "cpu_fused", "cuda", "cuda_fused"),
                         [](const auto& param_info) { return std::string(param_info.param); });

// What was found, by exchanging, in a pattern's examples with a fault turned on.
std::optional<Disagreement> found_by_exchange(const char* fault, const char* pattern) {
  CompileOptions options;
  options.faults = Faults({fault});
  Choices choices(9, 0, 0);
  for (const GraphRecipe& recipe : find_pattern(pattern)->examples) {
    const Graph graph = recipe.build(Dtype::f32, {});
    const auto program = std::move(*find_backend("cpu_fused")->compile(graph, options));
    const Trace before = program->run(inputs_of(graph, 3));
    for (const Exchange& exchange : exchanges_of(graph)) {
      if (!exchange.bit_for_bit) continue;
      const auto places = drawn_places(exchange.size, choices);
      const auto result = check_exchange(*program, graph, before, exchange, places);
      if (result.broken) return result.broken;
    }
  }
  return std::nullopt;
}

TEST(MetamorphicFaults, ADroppedBatchIndexIsFoundByExchange) {
  if (!kFaultsBuilt) GTEST_SKIP() << "a build without faults";
  for (const auto& [fault, pattern] : {std::pair("batched_weight_index_dropped", "einsum_to_gemm"),
                                       std::pair("mask_batch_index_dropped", "sdpa"),
                                       std::pair("welford_order_by_row", "layer_norm_welford")}) {
    const auto broken = found_by_exchange(fault, pattern);
    ASSERT_TRUE(broken) << fault;
    EXPECT_EQ(broken->kind, Disagreement::Kind::exchange);
    EXPECT_NE(broken->first, broken->second);
  }
}

Graph sum_graph() {
  Builder b;
  const TensorType type{Dtype::f32, {4, 6}};
  const ValueId x = b.input("x", type, Uniform{1, 2}), y = b.input("y", type, Uniform{1, 2});
  b.output(b.node(Add{}, {x, y}, "sum"));
  return *b.build();
}

TEST(MetamorphicFaults, AnAbsoluteErrorIsFoundByScaling) {
  const Graph graph = sum_graph();
  Changed program(graph, [](Tensor& result) {
    for (int64_t i = 0; i < result.size(); ++i) result.set(i, result.value(i) + 0x1p-18);
  });
  const Inputs inputs = inputs_of(graph, 1);
  const Scaling scaling{2, 2, 2};
  const Trace before = program.run(inputs), after = program.run(scaled_inputs(graph, inputs, scaling));
  const ScaledRuns runs{before, after};
  const auto result = check_scaling(program.plan(), graph, runs, runs, scaling);
  EXPECT_EQ(result.compared, 24);
  ASSERT_TRUE(result.broken);
  EXPECT_EQ(graph.name(result.broken->value), "sum");
}

// 2^-14 (1 - 3 * 2^-13) in f16 is 2^-14; four times it is 2^-12 (1 - 2^-11).
TEST(MetamorphicScaling, ANumberRoundedUpToTheSmallestNormalOneIsNotCompared) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {2}}, Constant{0x1p-14 * (1 - 3 * 0x1p-13)});
  b.output(b.node(Cast{Dtype::f16}, {x}, "y"));
  const Graph graph = *b.build();
  const auto program = std::move(*find_backend("cpu")->compile(graph, {}));
  const Inputs inputs = inputs_of(graph, 1);
  const Scaling scaling{2, 2};
  const Trace before = program->run(inputs), after = program->run(scaled_inputs(graph, inputs, scaling));
  ASSERT_NE(after.values[1]->value(0), 4 * before.values[1]->value(0));
  const ScaledRuns runs{before, after};
  const auto result = check_scaling(program->plan(), graph, runs, runs, scaling);
  EXPECT_EQ(result.compared, 0);
  EXPECT_FALSE(result.broken);
}

// x [4,3,8] w [4,8,5] + b [5], then the root of its square, normalised with a weight.
Graph mixed_graph() {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {4, 3, 8}}, Normal{});
  const ValueId w = b.input("w", {Dtype::f32, {4, 8, 5}}, Normal{});
  const ValueId bias = b.input("b", {Dtype::f32, {5}}, Normal{});
  const ValueId p = b.node(Matmul{}, {x, w}, "p"), sum = b.node(Add{}, {p, bias}, "sum");
  const ValueId root = b.node(Sqrt{}, {b.node(Mul{}, {sum, p}, "square")}, "root");
  b.output(b.node(ReduceMean{{1}}, {root}, "mean"));
  return *b.build();
}

TEST(Symmetry, ScalingsSolveTheirEquations) {
  const Graph graph = mixed_graph();
  Choices choices(1, 0, 0);
  int drawn = 0;
  for (int i = 0; i < 40; ++i) {
    const auto e = draw_scaling(graph, choices);
    if (!e) continue;
    ++drawn;
    const auto at = [&](const char* value) { return (*e)[static_cast<size_t>(*graph.find(value))]; };
    EXPECT_EQ(at("p"), at("x") + at("w"));
    EXPECT_EQ(at("b"), at("p"));
    EXPECT_EQ(at("square"), 2 * at("p"));
    EXPECT_EQ(at("mean"), at("p"));
  }
  EXPECT_GT(drawn, 10);
}

TEST(Symmetry, ExpHasNoScaling) {
  Builder b;
  b.output(b.node(Exp{}, {b.input("x", {Dtype::f32, {4}}, Normal{})}));
  const Graph graph = *b.build();
  Choices choices(1, 0, 0);
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(draw_scaling(graph, choices));
}

TEST(Symmetry, AxesThatBelongTogetherAreExchangedTogether) {
  const Graph graph = mixed_graph();
  const auto exchanges = exchanges_of(graph);
  ASSERT_EQ(exchanges.size(), 2U);  // the batch; the columns of w with the bias; rows are reduced
  for (const Exchange& e : exchanges) {
    const auto at = [&](const char* value) { return e.axes[static_cast<size_t>(*graph.find(value))]; };
    const bool batch = e.size == 4;
    EXPECT_EQ(e.bit_for_bit, batch);
    EXPECT_EQ(at("x"), batch ? 0 : -1);
    EXPECT_EQ(at("w"), batch ? 0 : 2);
    EXPECT_EQ(at("b"), batch ? -1 : 0);
    EXPECT_EQ(at("sum"), batch ? 0 : 2);
    EXPECT_EQ(at("mean"), batch ? 0 : 1);
  }
}

}  // namespace
}  // namespace fusesmith::fuzz
