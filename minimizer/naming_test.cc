#include "minimizer/naming.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "minimizer/edit.h"
#include "minimizer/sample_cases.h"

namespace fusesmith::minimizer {
namespace {

using testing::ElementsAre;

// The names of all values after the renames.
std::vector<std::string> names_of(const Case& test_case) {
  const auto renamed = apply_edit(test_case, Rename{descriptive_renames(test_case.graph)});
  check(renamed.has_value(), "the renames do not apply");
  std::vector<std::string> names;
  for (ValueId v = 0; v < renamed->graph.value_count(); ++v) names.push_back(renamed->graph.name(v));
  return names;
}

TEST(Naming, AttentionIsCalledByItsParts) {
  Builder b;
  const TensorType type{Dtype::f32, {2, 4, 8}};
  const ValueId a = b.input("x3", type, Normal{}), c = b.input("einsum1", type, Normal{}),
                d = b.input("x9", type, Normal{}), bias = b.input("x4", {Dtype::f32, {4, 4}}, Normal{});
  const ValueId hidden = b.input("b1", {Dtype::boolean, {4, 4}}, Bernoulli{});
  const ValueId k = b.node(Permute{{0, 2, 1}}, {c}, "p7");
  const ValueId scaled = b.node(Scale{0.5}, {b.node(Matmul{}, {a, k}, "m1")}, "s");
  const ValueId masked = b.node(MaskedFill{-INFINITY}, {b.node(Add{}, {scaled, bias}, "plus"), hidden}, "f");
  const ValueId p = b.node(Cast{Dtype::f32}, {b.node(Softmax{}, {masked}, "p")}, "kept");
  b.output(b.node(Matmul{}, {p, d}, "out"));
  EXPECT_THAT(names_of(case_of(b)),
              ElementsAre("q", "k", "v", "mask0", "mask1", "permute0", "scores", "scale0", "add0",
                          "masked_fill0", "softmax0", "cast0", "matmul0"));
}

TEST(Naming, WeightsAndBiasesAreNumberedWhereThereAreSeveral) {
  Builder b;
  const ValueId x = b.input("reduce_max0", {Dtype::bf16, {5, 3}}, Normal{});
  const ValueId w = b.input("w6", {Dtype::bf16, {4, 3}}, Normal{}),
                w2 = b.input("w7", {Dtype::bf16, {3, 4}}, Normal{});
  const ValueId bias = b.input("c", {Dtype::bf16, {4}}, Normal{});
  b.output(b.node(Linear{}, {x, w, bias}, "linear4"));
  b.output(b.node(Matmul{}, {x, w2}, "y"));
  EXPECT_THAT(names_of(case_of(b)), ElementsAre("x", "weight0", "weight1", "bias", "linear0", "matmul0"));
}

TEST(Naming, WhatIsReadInSeveralRolesIsX) {
  Builder b;
  const ValueId x = b.input("einsum1", {Dtype::f16, {2, 2}}, Constant{1});
  const ValueId p = b.node(Softmax{}, {b.node(Matmul{false, true}, {x, x}, "a")}, "b");
  b.output(b.node(Matmul{}, {p, x}, "c"));
  EXPECT_THAT(names_of(case_of(b)), ElementsAre("x", "scores", "softmax0", "matmul0"));
}

TEST(Naming, CachesAndTables) {
  Builder b;
  const ValueId rows = b.input("x2", {Dtype::f32, {1, 3}}, Normal{});
  const ValueId at = b.input("i", {Dtype::i32, {1}}, Constant{0});
  const ValueId old = b.state("s0", {Dtype::f32, {4, 3}}, Constant{0});
  const ValueId copied = b.node(IndexCopy{0}, {old, at, rows}, "copied");
  b.output(copied);
  b.next_state(0, copied);
  EXPECT_THAT(names_of(case_of(b)), ElementsAre("source", "indices", "state", "index_copy0"));
}

TEST(Naming, ABooleanInSeveralRolesIsAMask) {
  Builder b;
  const TensorType type{Dtype::f32, {2, 2}};
  const ValueId x = b.input("x1", type, Normal{}), m = b.input("x0", {Dtype::boolean, {2, 2}}, Bernoulli{});
  b.output(b.node(Where{}, {m, b.node(MaskedFill{}, {x, m}, "f"), x}, "w"));
  EXPECT_THAT(names_of(case_of(b)), ElementsAre("x", "mask", "masked_fill0", "where0"));
}

// Nodes with several outputs, states, dead code: the renames apply, leave nothing to rename and change
// nothing else.
TEST(Naming, OfEverySampleIsAFixedPoint) {
  for (const Case& test_case : sample_cases()) {
    const auto renames = descriptive_renames(test_case.graph);
    const auto renamed = apply_edit(test_case, Rename{renames});
    ASSERT_TRUE(renamed.has_value()) << to_string(test_case.graph);
    EXPECT_TRUE(descriptive_renames(renamed->graph).empty()) << to_string(renamed->graph);
    std::map<std::string, std::string> back;
    for (const auto& [from, to] : renames) back[to] = from;
    EXPECT_EQ(apply_edit(*renamed, Rename{back}), test_case);
  }
}

TEST(Naming, NodesOfSeveralOutputsAndStandIns) {
  Builder b;
  const ValueId x = b.input("a", {Dtype::f32, {2, 4}}, Normal{});
  const ValueId first = b.node(Chunk{1, 2}, {x}, "cut");
  b.output(b.node(Add{}, {first, first + 1}, "sum"));
  b.output(b.node(Add{}, {first + 1, first}, "mus"));
  Case test_case = case_of(b);
  test_case.stand_ins = {{"sum", "mus"}};
  const auto renamed = apply_edit(test_case, Rename{descriptive_renames(test_case.graph)});
  ASSERT_TRUE(renamed.has_value());
  EXPECT_EQ(renamed->graph.name(first + 1), "chunk0.1");
  EXPECT_EQ(renamed->stand_ins, (std::vector<StandIn>{{"add0", "add1"}}));
  EXPECT_FALSE(apply_edit(test_case, Rename{{{"nowhere", "x"}}}).has_value());
  EXPECT_FALSE(apply_edit(test_case, Rename{{{"sum", "mus"}}}).has_value());  // taken
}

}  // namespace
}  // namespace fusesmith::minimizer
