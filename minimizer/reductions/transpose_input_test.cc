#include <gtest/gtest.h>

#include "minimizer/minimize.h"
#include "minimizer/sample_cases.h"

namespace fusesmith::minimizer {
namespace {

std::vector<Edits> proposals_for(const Case& test_case) {
  return kTransposeInput.propose({test_case, Probe{"signature", {}, {}}});
}

TEST(TransposeInput, PermutesAndAttributesGo) {
  const Case test_case = transposed_operands();
  std::vector<Case> cases;
  for (const Edits& edits : proposals_for(test_case)) cases.push_back(apply_edits(test_case, edits).value());
  ASSERT_EQ(cases.size(), 3u);  // w by its recipe, w by its bits, u by its recipe
  const Input by_recipe = cases[0].graph.inputs()[1], by_bits = cases[1].graph.inputs()[1];
  EXPECT_EQ(by_recipe, (Input{"w", {Dtype::f32, {3, 4}}, Uniform{}}));
  EXPECT_EQ(first_node<Permute>(cases[0].graph), nullptr);
  const Tensor before = make_inputs(test_case)[1], after = make_inputs(cases[1])[1];
  EXPECT_EQ(by_bits.type, by_recipe.type);
  for (int64_t row = 0; row < 4; ++row) {
    for (int64_t column = 0; column < 3; ++column)
      EXPECT_EQ(before.value(row * 3 + column), after.value(column * 4 + row));
  }
  const Graph& flag = cases[2].graph;
  EXPECT_EQ(flag.inputs()[2].type, (TensorType{Dtype::f32, {4, 6}}));
  EXPECT_EQ(flag.nodes().back().op, Op(Matmul{}));
}

TEST(TransposeInput, WhatIsAlsoReadAsItIsStays) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {3, 3}}, Normal{}),
                y = b.input("y", {Dtype::f32, {3, 3}}, Normal{});
  const ValueId product = b.node(Matmul{false, true}, {x, x}, "product");
  b.output(
      b.node(Add{}, {b.node(Permute{{1, 0}}, {y}, "turned"), b.node(Add{}, {y, product}, "sum")}, "out"));
  EXPECT_TRUE(proposals_for(case_of(b)).empty());
}

TEST(TransposeInput, AFailureThatNeedsNoTransposeLosesIt) {
  const Predicate needs_products = [](const Case& test_case) -> std::optional<Probe> {
    int products = 0;
    for (const Node& node : test_case.graph.nodes())
      products += std::holds_alternative<Matmul>(node.op) ? 1 : 0;
    if (products < 3 || test_case.graph.inputs().size() < 3) return std::nullopt;
    for (const Input& input : test_case.graph.inputs()) {
      if (element_count(input.type) < 12) return std::nullopt;
    }
    return Probe{"products", {}, {}};  // no bits: nothing can be pinned
  };
  const Case smallest = minimize(transposed_operands(), needs_products).test_case;
  EXPECT_EQ(first_node<Permute>(smallest.graph), nullptr) << to_string(smallest.graph);
  for (const Node& node : smallest.graph.nodes()) {
    const auto* matmul = std::get_if<Matmul>(&node.op);
    EXPECT_TRUE(matmul == nullptr || *matmul == Matmul{}) << to_string(smallest.graph);
  }
}

}  // namespace
}  // namespace fusesmith::minimizer
