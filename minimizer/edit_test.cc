#include "minimizer/edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "minimizer/sample_cases.h"

namespace fusesmith::minimizer {
namespace {

using testing::ElementsAre;

std::vector<std::string> node_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) names.push_back(node.name);
  return names;
}

std::vector<std::string> source_names(const Graph& graph) {
  std::vector<std::string> names;
  for (ValueId v = 0; v < graph.source_count(); ++v) names.push_back(graph.name(v));
  return names;
}

TEST(Edit, SetOutputsDropsWhatNothingNeeds) {
  const auto smaller = apply_edit(embedded_head(), SetOutputs{{"x"}});
  ASSERT_TRUE(smaller.has_value());
  EXPECT_THAT(node_names(smaller->graph), ElementsAre("places", "all_places", "words", "where", "x"));
  EXPECT_THAT(source_names(smaller->graph), ElementsAre("ids", "table", "positions"));
  EXPECT_EQ(smaller->graph.inputs()[0], embedded_head().graph.inputs()[0]);
}

TEST(Edit, NamesThatDoNotExistGiveNothing) {
  const Case test_case = embedded_head();
  EXPECT_FALSE(apply_edit(test_case, SetOutputs{{"nowhere"}}).has_value());
  EXPECT_FALSE(apply_edit(test_case, SetOutputs{{}}).has_value());
  EXPECT_FALSE(apply_edit(test_case, SetOutputs{{"ids"}}).has_value());  // nothing would be computed
  EXPECT_FALSE(apply_edit(test_case, Bypass{"nowhere", 0}).has_value());
  EXPECT_FALSE(apply_edit(test_case, Bypass{"x", 2}).has_value());
  EXPECT_FALSE(apply_edit(test_case, Pin{"ids", nullptr}).has_value());
  EXPECT_FALSE(apply_edit(test_case, DropNode{"x"}).has_value());  // is read
  EXPECT_FALSE(apply_edit(test_case, Merge{"x", "x"}).has_value());
  EXPECT_FALSE(apply_edit(test_case, Resize{"x", 3, 1}).has_value());
  EXPECT_FALSE(apply_edit(test_case, Resize{"x", 0, 0}).has_value());
  EXPECT_FALSE(apply_edit(test_case, SetOp{"x", Add{}, 3}).has_value());
  EXPECT_FALSE(apply_edit(test_case, ChangeDtype{"ids", Dtype::f32}).has_value());
  EXPECT_FALSE(apply_edit(test_case, SetFill{"x", Constant{0}}).has_value());
  EXPECT_FALSE(apply_edit(test_case, ZeroElements{"table", 0, 1}).has_value());  // no literal
  EXPECT_FALSE(apply_edit(test_case, SetSteps{0}).has_value());
}

TEST(Edit, MergeIntoALaterValueGivesNothing) {
  EXPECT_FALSE(apply_edit(embedded_head(), Merge{"x", "y"}).has_value());
}

TEST(Edit, SetFillMayChangeTheType) {
  const Case test_case = transposed_operands();
  const SetFill wider{"x", Lattice{}, TensorType{Dtype::f32, {7, 3}}};
  const auto edited = apply_edit(test_case, wider);
  ASSERT_TRUE(edited.has_value());
  EXPECT_EQ(edited->graph.inputs()[0], (Input{"x", {Dtype::f32, {7, 3}}, Lattice{}}));
  EXPECT_EQ(to_string(Edit(wider)), "fill x with lattice(max_abs=8, exponent=0) as f32[7,3]");
  EXPECT_FALSE(apply_edit(test_case, SetFill{"x", Lattice{}, TensorType{Dtype::f32, {7, 4}}}).has_value());
}

TEST(Edit, BypassThroughAnotherShape) {
  // Axis 1 is added to q, k and v and removed from the result: alone none of these can go, together they can.
  const Case test_case = embedded_head();
  EXPECT_FALSE(apply_edit(test_case, Bypass{"q_4d", 0}).has_value());
  Edits edits;
  for (const char* name : {"q_head", "k_head", "v_head", "q_4d", "k_4d", "v_4d", "y"})
    edits.push_back(Bypass{name, 0});
  edits.push_back(SetOp{"p", Softmax{-1}, 1});
  const auto smaller = apply_edits(test_case, edits);
  ASSERT_TRUE(smaller.has_value());
  EXPECT_EQ(to_string(smaller->graph.type(*smaller->graph.find("pv"))), "f32[3,8,16]");
}

TEST(Edit, PinKeepsBitsAndDropsWhatMadeThem) {
  const Case test_case = embedded_head();
  const auto bits = some_bits(test_case.graph);
  const auto value = *test_case.graph.find("x");
  const auto smaller = apply_edit(test_case, Pin{"x", bits[static_cast<size_t>(value)]});
  ASSERT_TRUE(smaller.has_value());
  EXPECT_THAT(source_names(smaller->graph), ElementsAre("w", "x"));
  EXPECT_EQ(make_inputs(*smaller)[1], *bits[static_cast<size_t>(value)]);
  EXPECT_FALSE(apply_edit(test_case, Pin{"q", bits[0]}).has_value());  // bits of another type
}

TEST(Edit, PinAState) {
  const Case test_case = stepping();
  const auto smaller = apply_edit(test_case, Pin{"cache", nullptr});
  ASSERT_TRUE(smaller.has_value());
  EXPECT_TRUE(smaller->graph.states().empty());
  EXPECT_THAT(node_names(smaller->graph), ElementsAre("seen", "y"));
}

TEST(Edit, DropNodeOnlyDropsWhatWasDead) {
  const auto one = apply_edit(masked_mix(), DropNode{"nobody_reads_either"});
  ASSERT_TRUE(one.has_value());
  EXPECT_FALSE(one->graph.find("dead_chain").has_value());
  EXPECT_TRUE(one->graph.find("nobody_reads").has_value());
  const auto other = apply_edit(masked_mix(), SetOutputs{{"narrow"}});  // dead code may matter to a rewrite
  ASSERT_TRUE(other.has_value());
  EXPECT_TRUE(other->graph.find("nobody_reads").has_value());
}

TEST(Edit, ChangeDtypeStopsAtCasts) {
  const auto bf16 = apply_edit(masked_mix(), ChangeDtype{"q", Dtype::f32});
  ASSERT_TRUE(bf16.has_value());
  EXPECT_EQ(bf16->graph.type(*bf16->graph.find("causal")).dtype, Dtype::f32);
  EXPECT_EQ(bf16->graph.type(*bf16->graph.find("half")).dtype, Dtype::f16);
  const auto all = apply_edit(masked_mix(), ChangeDtype{"", Dtype::f32});
  ASSERT_TRUE(all.has_value());
  for (ValueId v = 0; v < all->graph.value_count(); ++v) EXPECT_FALSE(is_narrow(all->graph.type(v).dtype));
}

TEST(Edit, ChangeDtypeKeepsTheValuesOfLiterals) {
  const Case test_case = masked_mix();
  const auto bits = some_bits(test_case.graph)[0];
  const auto literal = apply_edit(test_case, SetFill{"q", literal_of(*bits)});
  ASSERT_TRUE(literal.has_value());
  const auto wide = apply_edit(*literal, ChangeDtype{"q", Dtype::f32});
  ASSERT_TRUE(wide.has_value());
  EXPECT_EQ(to_f64(make_inputs(*wide)[0]), to_f64(*bits));
}

TEST(Edit, DataOfFilesIsCutAndConverted) {
  Builder b;
  Tensor data({Dtype::f32, {64, 512}});
  for (int64_t i = 0; i < data.size(); ++i) data.set(i, static_cast<double>(i % 251));
  b.output(b.node(Relu{}, {b.input("x", data.type, file_of(data))}, "y"));
  Case test_case;
  test_case.graph = *b.build();
  const auto narrow = apply_edit(test_case, Resize{"x", 1, 500});
  ASSERT_TRUE(narrow.has_value());
  EXPECT_TRUE(has_data_files(*narrow));
  EXPECT_EQ(make_inputs(*narrow)[0].value(500), data.value(512));
  const auto row = apply_edit(*narrow, Resize{"x", 0, 2});
  ASSERT_TRUE(row.has_value());
  EXPECT_FALSE(has_data_files(*row));  // few elements are a literal
  EXPECT_EQ(make_inputs(*row)[0].value(999), data.value(512 + 499));
  const auto half = apply_edit(test_case, ChangeDtype{"x", Dtype::f16});
  ASSERT_TRUE(half.has_value());
  EXPECT_EQ(to_f64(make_inputs(*half)[0]), to_f64(data));
}

TEST(Edit, ZeroElements) {
  const Case test_case = embedded_head();
  const auto literal = apply_edit(test_case, SetFill{"w", literal_of(*some_bits(test_case.graph)[3])});
  ASSERT_TRUE(literal.has_value());
  const auto zeroed = apply_edit(*literal, ZeroElements{"w", 2, 5});
  ASSERT_TRUE(zeroed.has_value());
  const std::vector<double> values = to_f64(make_inputs(*zeroed)[3]);
  EXPECT_THAT(std::vector<double>(values.begin(), values.begin() + 6), ElementsAre(0, 0.125, 0, 0, 0, 0.625));
  EXPECT_FALSE(apply_edit(*literal, ZeroElements{"w", 0, 1000}).has_value());
}

TEST(Edit, WhatIsReplacedStaysInTheGraph) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {2, 8}}, Normal{});
  b.output(b.node(Relu{}, {b.node(Permute{{1, 0}}, {x}, "turned")}, "y"));
  Case test_case;
  test_case.graph = *b.build();
  test_case.policy.replaced = "x[:,5:8] = nan";
  const auto after = [&](const Edit& edit) {
    const auto edited = apply_edit(test_case, edit);
    return edited ? edited->policy.replaced : "no case";
  };
  EXPECT_EQ(after(Resize{"x", 1, 6}), "x[:,5] = nan");
  EXPECT_EQ(after(Resize{"x", 1, 3}), "x[:,2] = nan");
  EXPECT_EQ(after(Resize{"x", 0, 1}), "x[:,5:8] = nan");
  EXPECT_EQ(after(Pin{"turned", nullptr}), "turned[5:8,:] = nan");
  EXPECT_EQ(after(Rename{{{"x", "rows"}}}), "rows[:,5:8] = nan");
  test_case.policy.replaced = "x[1,:] = other";
  EXPECT_EQ(after(Pin{"turned", nullptr}), "turned[:,1] = other");
}

TEST(Edit, TextSaysWhatIsDone) {
  EXPECT_EQ(to_string(Edit(Resize{"x", 1, 16})), "resize x axis 1 to 16");
  EXPECT_EQ(to_string(Edit(SetFill{"x", Normal{0, 2}})), "fill x with normal(mean=0, stddev=2)");
  EXPECT_EQ(to_string(Edits{Bypass{"a", 0}, SetSteps{1}}), "bypass a through operand 0; run 1 steps");
}

// The third part is read by a node behind it: the case is refused, and nothing else takes the part's place.
TEST(Edit, AnOpWithFewerOutputsThanAreReadGivesNothing) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {6}}, Normal{});
  const ValueId parts = b.node(Chunk{0, 3}, {x}, "parts");
  b.output(b.node(Relu{}, {parts}, "first"));
  b.output(b.node(Relu{}, {parts + 2}, "third"));
  Case test_case;
  test_case.graph = *b.build();
  EXPECT_FALSE(apply_edit(test_case, SetOp{"parts", Chunk{0, 2}, 1}).has_value());
}

}  // namespace
}  // namespace fusesmith::minimizer
