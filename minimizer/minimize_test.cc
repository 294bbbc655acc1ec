#include "minimizer/minimize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "minimizer/sample_cases.h"

namespace fusesmith::minimizer {
namespace {

Probe failing(const Case& test_case, std::string signature, std::vector<int> failing_nodes = {}) {
  return {std::move(signature), some_bits(test_case.graph), std::move(failing_nodes)};
}

// A softmax over a number of keys that 16 does not divide, of the product of two values.
std::optional<Probe> tail_bug(const Case& test_case) {
  const Graph& graph = test_case.graph;
  for (const Node& node : graph.nodes()) {
    if (!std::holds_alternative<Softmax>(node.op) || graph.type(node.inputs[0]).shape.back() % 16 == 0)
      continue;
    for (auto at = graph.producer(node.inputs[0]); at;
         at = graph.producer(graph.nodes()[static_cast<size_t>(*at)].inputs[0])) {
      const Op& op = graph.nodes()[static_cast<size_t>(*at)].op;
      if (std::holds_alternative<Matmul>(op)) return failing(test_case, "tail");
    }
  }
  return std::nullopt;
}

// LayerNorm over more than 20 elements of data that is not all zero.
std::optional<Probe> wide_norm_bug(const Case& test_case) {
  const Graph& graph = test_case.graph;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (!std::holds_alternative<LayerNorm>(node.op) || graph.type(node.inputs[0]).shape.back() <= 20)
      continue;
    if (graph.is_input(node.inputs[0])) {
      const Tensor x = make_inputs(test_case)[static_cast<size_t>(node.inputs[0])];
      if (std::all_of(x.bytes.begin(), x.bytes.end(), [](std::byte byte) { return byte == std::byte{0}; }))
        continue;
    }
    return failing(test_case, "wide_norm", {static_cast<int>(n)});
  }
  return std::nullopt;
}

// "both" while there is a gelu and a softmax, "softmax" with a softmax alone.
std::optional<Probe> sliding_bug(const Case& test_case) {
  if (first_node<Softmax>(test_case.graph) == nullptr) return std::nullopt;
  return failing(test_case, first_node<Gelu>(test_case.graph) != nullptr ? "both" : "softmax");
}

MinimizeOptions with_queries(int64_t max_queries) {
  MinimizeOptions options;
  options.max_queries = max_queries;
  return options;
}

// What computes one graph is given only that one, with other sizes, dtypes and data.
TEST(Minimize, AFixedGraphKeepsNodesAttributesAndNames) {
  Builder b;
  const ValueId x = b.input("activations", {Dtype::bf16, {8, 40}}, Normal{3, 2});
  b.output(b.node(Softmax{0}, {b.node(Gelu{Gelu::Form::tanh}, {x}, "g")}, "probabilities"));
  const Predicate fails = [](const Case& test_case) -> std::optional<Probe> {
    const TensorType& type = test_case.graph.type(0);
    if (type.shape.size() != 2 || type.shape[1] < 3) return {};
    return failing(test_case, "wide");
  };
  MinimizeOptions options;
  options.fixed_graph = true;
  const Case start = case_of(b), smallest = minimize(start, fails, options).test_case;
  EXPECT_EQ(smallest.graph.nodes(), start.graph.nodes());
  EXPECT_EQ(smallest.graph.inputs()[0].name, "activations");
  EXPECT_EQ(smallest.graph.type(0), (TensorType{Dtype::f32, {1, 3}}));
  EXPECT_EQ(minimize(start, fails).test_case.graph.nodes().size(), 1u);  // without it, less is left
}

TEST(Minimize, KeepsTheSizesThatAreMeant) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {4, 8}}, Normal{});
  b.output(b.node(Scale{8, true}, {b.node(ReduceSum{{1}, false}, {x}, "sum")}, "mean"));
  const Predicate fails = [](const Case& test_case) -> std::optional<Probe> {
    return failing(test_case, "any");
  };
  MinimizeOptions options;
  options.fixed_graph = options.keep_sizes = true;
  const Case start = case_of(b), smallest = minimize(start, fails, options).test_case;
  EXPECT_EQ(smallest.graph.type(0).shape, (Shape{4, 8}));
  EXPECT_NE(smallest.graph.inputs()[0].fill, Fill(Normal{}));
  options.keep_sizes = false;
  EXPECT_EQ(minimize(start, fails, options).test_case.graph.type(0).shape, (Shape{1, 1}));
}

TEST(Minimize, KeepsTheDataThatIsMeant) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {4, 8}}, Normal{}),
                scale = b.input("scale", {Dtype::f32, {1}}, Constant{0.25});
  b.output(b.node(Mul{}, {x, scale}, "y"));
  const Predicate fails = [](const Case& test_case) -> std::optional<Probe> {
    return failing(test_case, "any");
  };
  MinimizeOptions options;
  options.fixed_graph = true;
  options.keep_data = {"scale"};
  const Case start = case_of(b), smallest = minimize(start, fails, options).test_case;
  EXPECT_EQ(smallest.graph.inputs()[1].fill, Fill(Constant{0.25}));
  EXPECT_NE(smallest.graph.inputs()[0].fill, Fill(Normal{}));
  options.keep_data.clear();
  EXPECT_NE(minimize(start, fails, options).test_case.graph.inputs()[1].fill, Fill(Constant{0.25}));
}

TEST(Minimize, LeavesThePatternAndOnes) {
  const MinimizeResult result = minimize(transformer_block(), tail_bug);
  ASSERT_TRUE(result.fails);
  EXPECT_EQ(result.signature, "tail");
  EXPECT_TRUE(tail_bug(result.test_case).has_value());
  EXPECT_EQ(result.after.nodes, 2) << to_string(result.test_case.graph);
  EXPECT_EQ(result.after.elements, 3) << to_string(result.test_case.graph);
  EXPECT_EQ(result.after.data, 0);
  EXPECT_EQ(result.after.attributes, 0);
  EXPECT_LT(result.queries, 150);
  EXPECT_FALSE(result.flaky);
  EXPECT_FALSE(result.exhausted);
}

TEST(Minimize, ExtractsTheFailingRegionFirstAndFindsAThreshold) {
  const MinimizeResult result = minimize(transformer_block(), wide_norm_bug);
  ASSERT_TRUE(result.fails);
  EXPECT_EQ(result.edits.front(), "extract the region of 1 nodes");
  EXPECT_EQ(result.after.nodes, 1);
  EXPECT_EQ(result.after.elements, 42) << to_string(result.test_case.graph);  // x and y of 21
  EXPECT_LE(result.after.data, 3);                                            // one element, or ones
  EXPECT_LT(result.queries, 60);
}

TEST(Minimize, KeepsTheSignatureAndReportsOthersOnce) {
  std::map<std::string, int> others;
  MinimizeOptions options;
  options.on_other = [&](const std::string& signature, const Case& test_case) {
    ++others[signature];
    EXPECT_EQ(sliding_bug(test_case)->signature, signature);
  };
  const MinimizeResult result = minimize(transformer_block(), sliding_bug, options);
  EXPECT_EQ(result.signature, "both");
  EXPECT_EQ(sliding_bug(result.test_case)->signature, "both");
  EXPECT_LE(result.after.nodes, 3) << to_string(result.test_case.graph);
  EXPECT_EQ(others, (std::map<std::string, int>{{"softmax", 1}}));
}

TEST(Minimize, APassingStartIsGivenBack) {
  const MinimizeResult result = minimize(masked_mix(), tail_bug);
  EXPECT_FALSE(result.fails);
  EXPECT_EQ(result.queries, 1);
  EXPECT_EQ(result.test_case, masked_mix());
}

TEST(Minimize, RespectsMaxQueries) {
  for (const int64_t limit : {1, 2, 3, 7, 30}) {
    int64_t calls = 0;
    const Predicate counted = [&](const Case& test_case) {
      ++calls;
      return tail_bug(test_case);
    };
    const MinimizeResult result = minimize(transformer_block(), counted, with_queries(limit));
    EXPECT_LE(calls, limit);
    EXPECT_EQ(calls, result.queries);
    EXPECT_TRUE(result.exhausted);
    EXPECT_TRUE(result.fails);
    EXPECT_TRUE(tail_bug(result.test_case).has_value());
  }
}

TEST(Minimize, RespectsMaxSeconds) {
  MinimizeOptions options;
  options.max_seconds = 0;
  const MinimizeResult result = minimize(transformer_block(), tail_bug, options);
  EXPECT_EQ(result.queries, 1);  // the start is always checked
  EXPECT_TRUE(result.fails);
  EXPECT_TRUE(result.exhausted);
}

TEST(Minimize, IsDeterministic) {
  const MinimizeResult a = minimize(transformer_block(), tail_bug),
                       b = minimize(transformer_block(), tail_bug);
  EXPECT_EQ(to_json(a.test_case), to_json(b.test_case));
  EXPECT_EQ(a.edits, b.edits);
  EXPECT_EQ(a.queries, b.queries);
}

TEST(Minimize, EveryCaseAskedIsSmallerThanTheLastTakenAndNew) {
  Measure last = measure(transformer_block());
  std::vector<std::string> asked;
  MinimizeOptions options;
  options.on_progress = [&](const Progress& progress) {
    EXPECT_LT(progress.measure, last) << progress.edit;
    last = progress.measure;
  };
  const Predicate watched = [&](const Case& test_case) {
    asked.push_back(to_json(test_case));
    return tail_bug(test_case);
  };
  minimize(transformer_block(), watched, options);
  asked.pop_back();  // the last check repeats
  std::sort(asked.begin(), asked.end());
  EXPECT_EQ(std::adjacent_find(asked.begin(), asked.end()), asked.end());
}

TEST(Minimize, WhatDoesNotFailAgainIsGivenUp) {
  int calls = 0;
  const Predicate flaky = [&](const Case& test_case) -> std::optional<Probe> {
    auto probe = tail_bug(test_case);
    const bool small = probe && test_case.graph.nodes().size() < 10;
    if (small && ++calls > 3) return std::nullopt;  // small cases fail three times in all
    return probe;
  };
  const MinimizeResult result = minimize(transformer_block(), flaky);
  EXPECT_TRUE(result.fails);
  EXPECT_TRUE(result.flaky);
  EXPECT_GE(result.test_case.graph.nodes().size(), 10u);
}

// What matters of the policy stays, the rest goes.
TEST(Minimize, LeavesOfThePolicyWhatMatters) {
  Case start = transformer_block();
  start.policy = {
      true, Policy::ImplicitCasts::strict, {"dropout_elimination", "sdpa", "gemm_bias_act", "gate"}};
  const Predicate unless_sdpa = [](const Case& test_case) -> std::optional<Probe> {
    const auto& skipped = test_case.policy.skip_patterns;
    if (std::find(skipped.begin(), skipped.end(), "sdpa") == skipped.end()) return std::nullopt;
    return tail_bug(test_case);
  };
  const Policy& kept = minimize(start, unless_sdpa).test_case.policy;
  EXPECT_EQ(kept, (Policy{false, Policy::ImplicitCasts::may_elide, {"sdpa"}}));
  const Predicate with_tf32 = [](const Case& test_case) {
    return test_case.policy.tf32 ? tail_bug(test_case) : std::nullopt;
  };
  EXPECT_EQ(minimize(start, with_tf32).test_case.policy, (Policy{true, {}, {}}));
}

TEST(Minimize, NamesSayWhatTheyName) {
  const MinimizeResult result = minimize(transformer_block(), tail_bug);
  EXPECT_EQ(result.after.names, 0);
  const Graph& graph = result.test_case.graph;
  EXPECT_EQ(graph.inputs()[0].name, "x") << to_string(graph);  // q and k
  EXPECT_EQ(graph.nodes()[0].name, "scores");
  EXPECT_EQ(graph.nodes()[1].name, "softmax0");
}

TEST(Minimize, ShrinksASquareAsASquare) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {7, 24}}, Normal{}),
                w = b.input("w", {Dtype::f32, {24, 24}}, Normal{});
  b.output(b.node(Linear{}, {b.node(Relu{}, {x}, "positive"), w}, "y"));
  const Predicate needs_square = [](const Case& test_case) -> std::optional<Probe> {
    const Node* linear = first_node<Linear>(test_case.graph);
    if (linear == nullptr) return std::nullopt;
    const Shape& shape = test_case.graph.type(linear->inputs[1]).shape;
    if (shape[0] != shape[1] || shape[0] < 5) return std::nullopt;
    return failing(test_case, "square");
  };
  const MinimizeResult result = minimize(case_of(b), needs_square);
  EXPECT_EQ(result.after.elements, 5 + 25 + 5) << to_string(result.test_case.graph);
}

TEST(Minimize, StepsAndStates) {
  const Predicate needs_three = [](const Case& test_case) -> std::optional<Probe> {
    if (test_case.steps < 3 || test_case.graph.states().empty()) return std::nullopt;
    return failing(test_case, "third_step");
  };
  const MinimizeResult result = minimize(stepping(), needs_three);
  EXPECT_EQ(result.test_case.steps, 3);
  EXPECT_LE(result.after.nodes, 2) << to_string(result.test_case.graph);
}

TEST(Minimize, AStatelessFailureLosesItsStates) {
  const Predicate needs_matmul = [](const Case& test_case) -> std::optional<Probe> {
    if (first_node<Matmul>(test_case.graph) == nullptr) return std::nullopt;
    return failing(test_case, "matmul");
  };
  const MinimizeResult result = minimize(stepping(), needs_matmul);
  EXPECT_EQ(result.after.nodes, 1) << to_string(result.test_case.graph);
  EXPECT_TRUE(result.test_case.graph.states().empty());
  EXPECT_EQ(result.after.elements, 2);
}

// Any single op of the samples, as the thing that must stay: the result is that op alone (with a reader or
// source at most).
TEST(Minimize, AnyOpIsLeftAlone) {
  for (const Case& test_case : sample_cases()) {
    for (const Node& node : test_case.graph.nodes()) {
      const std::string name = node.name;
      const Predicate keeps = [&](const Case& candidate) -> std::optional<Probe> {
        const auto& nodes = candidate.graph.nodes();
        const auto at =
            std::find_if(nodes.begin(), nodes.end(), [&](const Node& n) { return n.name == name; });
        if (at == nodes.end()) return std::nullopt;
        return failing(candidate, "kept", {static_cast<int>(at - nodes.begin())});
      };
      const MinimizeResult result = minimize(test_case, keeps);
      EXPECT_TRUE(keeps(result.test_case).has_value());
      EXPECT_LE(result.after.nodes, 3) << name << "\n" << to_string(result.test_case.graph);
      EXPECT_LE(result.after.elements, 40) << name << "\n" << to_string(result.test_case.graph);
      EXPECT_EQ(result.after.nonzeros, 0) << name;
    }
  }
}

}  // namespace
}  // namespace fusesmith::minimizer
