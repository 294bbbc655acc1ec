#include "minimizer/dimensions.h"

#include <gtest/gtest.h>

#include "minimizer/edit.h"
#include "minimizer/sample_cases.h"

namespace fusesmith::minimizer {
namespace {

Shape shape_of(const Graph& graph, const std::string& name) {
  const auto value = graph.find(name);
  return value ? graph.type(*value).shape : Shape{-1};
}

Graph resized(const Case& test_case, const std::string& value, int axis, int64_t size) {
  const auto smaller = apply_edit(test_case, Resize{value, axis, size});
  EXPECT_TRUE(smaller.has_value()) << value << " axis " << axis << " to " << size;
  return smaller ? smaller->graph : test_case.graph;
}

TEST(Dimensions, TokensMoveThroughBiasSlicesHeadsAndScores) {
  const Graph graph = resized(transformer_block(), "x", 1, 5);
  EXPECT_EQ(shape_of(graph, "x"), (Shape{2, 5, 32}));
  EXPECT_EQ(shape_of(graph, "q_bias"), (Shape{2, 5, 32}));
  EXPECT_EQ(shape_of(graph, "bq"), (Shape{3, 20, 32}));  // was longer than the slice, and stays
  EXPECT_EQ(shape_of(graph, "scores"), (Shape{2, 4, 5, 5}));
  EXPECT_EQ(shape_of(graph, "merged"), (Shape{2, 5, 32}));
}

TEST(Dimensions, HeadsAndHeadSizeChangeTheirProduct) {
  const Graph heads = resized(transformer_block(), "q_split", 2, 1);
  EXPECT_EQ(shape_of(heads, "wq"), (Shape{2, 32, 8}));
  EXPECT_EQ(shape_of(heads, "wv"), (Shape{2, 32, 8}));
  EXPECT_EQ(shape_of(heads, "wo"), (Shape{2, 8, 32}));
  EXPECT_EQ(shape_of(heads, "scores"), (Shape{2, 1, 17, 17}));
  const Graph size = resized(transformer_block(), "k_split", 3, 2);
  EXPECT_EQ(shape_of(size, "q"), (Shape{2, 17, 8}));
  EXPECT_EQ(shape_of(size, "v_split"), (Shape{2, 17, 4, 8}));  // values may be longer than keys
}

TEST(Dimensions, AProductIsSplitAmongItsFactors) {
  EXPECT_EQ(shape_of(resized(transformer_block(), "q", 2, 8), "k_split"), (Shape{2, 17, 4, 2}));
  EXPECT_EQ(shape_of(resized(transformer_block(), "q", 2, 1), "q_split"), (Shape{2, 17, 1, 1}));
  const Graph prime = resized(transformer_block(), "q", 2, 31);
  EXPECT_EQ(shape_of(prime, "scores"), (Shape{2, 1, 17, 17}));
  EXPECT_EQ(shape_of(prime, "v"), (Shape{2, 17, 8}));
}

TEST(Dimensions, SizesNamedByAttributesFollow) {
  const Graph head = resized(embedded_head(), "ids", 1, 3);
  EXPECT_EQ(shape_of(head, "places"), (Shape{3}));
  EXPECT_EQ(shape_of(head, "all_places"), (Shape{3, 3}));
  EXPECT_EQ(shape_of(head, "scores"), (Shape{3, 1, 3, 3}));
  const Graph mix = resized(masked_mix(), "keep", 0, 2);
  EXPECT_EQ(shape_of(mix, "hidden"), (Shape{2, 2}));
  EXPECT_EQ(shape_of(mix, "every_second"), (Shape{1, 2, 1, 4}));
  EXPECT_EQ(shape_of(mix, "half"), (Shape{2, 2, 2}));
}

TEST(Dimensions, IndicesStayInsideAShorterTable) {
  const auto smaller = apply_edit(embedded_head(), Resize{"table", 0, 5});
  ASSERT_TRUE(smaller.has_value());
  EXPECT_EQ(smaller->graph.inputs()[0].fill, Fill(Tokens{5}));
  EXPECT_FALSE(apply_edit(embedded_head(), Resize{"positions", 0, 5}).has_value());  // arange counts to 8
}

TEST(Dimensions, StatesAndTheirNextValuesStayEqual) {
  const Graph graph = resized(stepping(), "w", 0, 2);
  EXPECT_EQ(shape_of(graph, "cache"), (Shape{4, 2}));
  EXPECT_EQ(shape_of(graph, "updated"), (Shape{4, 2}));
  EXPECT_EQ(shape_of(graph, "y"), (Shape{4, 6}));
}

TEST(Dimensions, LiteralsAreCropped) {
  Builder b;
  Tensor bits({Dtype::f32, {2, 3}});
  for (int64_t i = 0; i < 6; ++i) bits.set(i, static_cast<double>(i));
  b.output(b.node(Relu{}, {b.input("x", bits.type, literal_of(bits))}, "y"));
  const auto smaller = apply_edit(case_of(b), Resize{"x", 1, 2});
  ASSERT_TRUE(smaller.has_value());
  EXPECT_EQ(to_f64(make_inputs(*smaller)[0]), (std::vector<double>{0, 1, 3, 4}));
  const auto larger = apply_edit(*smaller, Resize{"x", 0, 3});
  ASSERT_TRUE(larger.has_value());
  EXPECT_EQ(to_f64(make_inputs(*larger)[0]), (std::vector<double>{0, 1, 3, 4, 0, 1}));
}

// Wherever two shapes agree only by chance, dimensions stay apart; wherever they must agree, they are one.
TEST(Dimensions, AreFoundInACube) {
  Builder b;
  const TensorType cube{Dtype::f32, {4, 4, 4}};
  const ValueId q = b.input("q", cube, Normal{}), k = b.input("k", cube, Normal{}),
                v = b.input("v", cube, Normal{});
  b.output(b.node(Sdpa{}, {q, k, v}, "y"));
  EXPECT_EQ(Dimensions(case_of(b).graph).all().size(), 5u);  // batch, t, d, s, e
  Builder square;
  const ValueId x = square.input("x", {Dtype::f32, {4, 4}}, Normal{});
  square.output(square.node(Einsum{"ii,ij->j"}, {x, x}, "y"));
  EXPECT_EQ(Dimensions(case_of(square).graph).all().size(), 1u);
}

TEST(Dimensions, AllOfABlockShrinkToOne) {
  for (const Case& test_case : {transformer_block(), masked_mix(), stepping()}) {
    for (const Dimension& d : Dimensions(test_case.graph).all()) {
      const std::string& name = test_case.graph.name(d.value);
      EXPECT_TRUE(apply_edit(test_case, Resize{name, d.axis, 1}).has_value()) << name << " axis " << d.axis;
    }
  }
}

// q, k and v from one chunked projection; a rotated k written into a cache, and v appended to another.
Case decoding_step() {
  Builder b;
  const auto input = [&](const std::string& name, Shape shape) {
    return b.input(name, {Dtype::bf16, std::move(shape)}, Normal{});
  };
  const ValueId x = input("x", {2, 3, 24}), cache = input("cache", {2, 9, 8}),
                past = input("past", {2, 5, 8}), cos = input("cos", {3, 4}), sin = input("sin", {3, 4});
  const ValueId places = b.input("places", {Dtype::i32, {3}}, Literal{"000000080000000200000005"});
  const ValueId q = b.node(Chunk{2, 3}, {x}, "qkv"), k = q + 1, v = q + 2;
  const ValueId rotated = b.node(Rope{}, {k, cos, sin}, "rotated");
  b.output(b.node(IndexCopy{1}, {cache, places, rotated}, "updated"));
  b.output(b.node(Concat{1}, {past, v}, "longer"));
  b.output(q);
  return case_of(b);
}

TEST(Dimensions, PartsAndTheirWholesMoveTogether) {
  const Graph narrow = resized(decoding_step(), "x", 2, 6);
  EXPECT_EQ(shape_of(narrow, "qkv.1"), (Shape{2, 3, 2}));
  EXPECT_EQ(shape_of(narrow, "cos"), (Shape{3, 1}));
  EXPECT_EQ(shape_of(narrow, "cache"), (Shape{2, 9, 2}));
  const Graph angles = resized(decoding_step(), "cos", 1, 3);
  EXPECT_EQ(shape_of(angles, "x"), (Shape{2, 3, 18}));
  const Graph tokens = resized(decoding_step(), "x", 1, 1);
  EXPECT_EQ(shape_of(tokens, "longer"), (Shape{2, 6, 8}));
  EXPECT_EQ(shape_of(tokens, "places"), (Shape{1}));
  EXPECT_EQ(shape_of(resized(decoding_step(), "longer", 1, 4), "past"), (Shape{2, 1, 8}));
}

TEST(Dimensions, IndicesStayDistinctInASmallerCache) {
  const Graph graph = resized(decoding_step(), "cache", 1, 4);
  EXPECT_EQ(graph.inputs()[5].fill, Fill(Literal{"000000020000000000000001"}));
}

}  // namespace
}  // namespace fusesmith::minimizer
