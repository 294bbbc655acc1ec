// index_copy's rule: which indices count as distinct, through fills, sources and movement ops.
#include "graph/index_values.h"

#include <gtest/gtest.h>

#include "graph/graph.h"

namespace fusesmith::graph {
namespace {

constexpr const char* kRange = "y: index_copy expected indices known to lie in [0, 6)";
constexpr const char* kDistinct = "y: index_copy expected indices known to be distinct";

// index_copy into 6 rows by what `make` adds.
template <class F>
std::string problem_with(F make) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {6, 2}}, Normal{});
  const ValueId one = b.input("one", {Dtype::i32, {1}}, Tokens{6}),
                pair = b.input("pair", {Dtype::i32, {2}}, Tokens{6}),
                literal = b.input("literal", {Dtype::i32, {2}}, Literal{"0000000500000001"}),
                twice = b.input("twice", {Dtype::i32, {2}}, Literal{"0000000500000005"});
  const std::vector<ValueId> inputs = {one, pair, literal, twice};
  std::vector<ValueId> sources;
  for (int64_t k = 1; k <= 6; ++k)
    sources.push_back(b.input("source" + std::to_string(k), {Dtype::f32, {k, 2}}, Normal{}));
  const ValueId index = make(b, inputs);
  b.output(b.node(IndexCopy{0}, {x, index, sources[static_cast<size_t>(b.type(index).shape[0] - 1)]}, "y"));
  const auto graph = b.build();
  return graph ? "" : graph.problem();
}

TEST(IndexValues, FillsAndSources) {
  const auto input = [](size_t i) {
    return problem_with([i](Builder&, const auto& inputs) { return inputs[i]; });
  };
  EXPECT_EQ(input(0), "");  // one token differs from all others
  EXPECT_EQ(input(1), kDistinct);
  EXPECT_EQ(input(2), "");
  EXPECT_EQ(input(3), kDistinct);
  const auto arange = [](Arange op) {
    return problem_with([op](Builder& b, const auto&) { return b.node(op, {}); });
  };
  EXPECT_EQ(arange({3, 1, 2}), "");
  EXPECT_EQ(arange({3, 2, 2}), kRange);
}

TEST(IndexValues, MovementKeepsThemApartOrNot) {
  const auto moved = [](const Op& op, size_t i) {
    return problem_with([&](Builder& b, const auto& inputs) { return b.node(op, {inputs[i]}); });
  };
  EXPECT_EQ(moved(Flip{{0}}, 2), "");
  EXPECT_EQ(moved(Roll{0, 1}, 2), "");
  EXPECT_EQ(moved(Slice{0, 1, 2}, 1), "");  // one is left
  EXPECT_EQ(moved(BroadcastTo{{2}}, 0), kDistinct);
  const auto concat = [](Arange first, Arange second) {
    return problem_with([&](Builder& b, const auto&) {
      return b.node(Concat{0}, {b.node(first, {}), b.node(second, {})});
    });
  };
  EXPECT_EQ(concat({2, 4, 1}, {3, 0, 1}), "");
  EXPECT_EQ(concat({2, 2, 1}, {3, 0, 1}), kDistinct);
  EXPECT_EQ(concat({2, 4, 2}, {3, 0, 1}), kRange);  // the range is that of all parts
  EXPECT_EQ(problem_with([](Builder& b, const auto& inputs) {
              return b.node(Gather{}, {b.node(Arange{6}, {}), inputs[1]});
            }),
            kDistinct);
  EXPECT_EQ(problem_with([](Builder& b, const auto& inputs) {
              return b.node(IndexCopy{0}, {b.node(Arange{6}, {}), inputs[0], b.node(Arange{1, 9}, {})});
            }),
            kRange);
}

TEST(IndexValues, OutputsOfOneNode) {
  EXPECT_EQ(problem_with([](Builder& b, const auto&) {
              return b.node(Chunk{0, 2}, {b.node(Arange{6}, {})}) + 1;
            }),
            "");
}

}  // namespace
}  // namespace fusesmith::graph
