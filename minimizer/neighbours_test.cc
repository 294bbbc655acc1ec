#include "minimizer/neighbours.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "minimizer/sample_cases.h"

namespace fusesmith::minimizer {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

// Bottom-right causal masks fail unless 16 divides the number of keys.
Outcome tile_bug(const Case& test_case) {
  const Node* mask = first_node<CausalMask>(test_case.graph);
  if (mask == nullptr) return Outcome::other;
  const auto& op = std::get<CausalMask>(mask->op);
  const bool fails = op.alignment == CausalAlignment::bottom_right && op.cols % 16 != 0;
  return fails ? Outcome::fails : Outcome::passes;
}

Case masked() {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {3, 17}}, Normal{});
  const ValueId mask = b.node(CausalMask{3, 17, CausalAlignment::bottom_right}, {}, "mask");
  b.output(b.node(MaskedFill{}, {x, mask}, "y"));
  return case_of(b);
}

TEST(Neighbours, NameTheSizeTheRuleAndTheAttributeThatMatter) {
  const Neighbours neighbours = find_neighbours(masked(), tile_bug);
  ASSERT_EQ(neighbours.sizes.size(), 2u);
  const SizeNeighbours &rows = neighbours.sizes[0], &keys = neighbours.sizes[1];
  EXPECT_THAT(rows.axes, ElementsAre("x axis 0"));
  EXPECT_EQ(rows.rule->text(), "always");
  EXPECT_FALSE(rows.nearest_passing().has_value());
  EXPECT_THAT(keys.axes, ElementsAre("x axis 1"));
  EXPECT_EQ(keys.size, 17);
  EXPECT_EQ(keys.rule->text(), "N mod 16 != 0");
  EXPECT_EQ(keys.nearest_passing(), 16);
  EXPECT_EQ(keys.tried.at(17), true);

  ASSERT_EQ(neighbours.choices.size(), 3u);
  EXPECT_EQ(neighbours.choices[0].what, "dtype");
  EXPECT_THAT(neighbours.choices[0].failing, ElementsAre("f16", "bf16"));
  EXPECT_EQ(neighbours.choices[1].what, "alignment of mask");
  EXPECT_EQ(neighbours.choices[1].value, "bottom_right");
  EXPECT_THAT(neighbours.choices[1].passing, ElementsAre("top_left"));
  EXPECT_EQ(neighbours.choices[2].what, "inverted of y");
  EXPECT_THAT(neighbours.choices[2].passing, IsEmpty());
  EXPECT_FALSE(neighbours.exhausted);
}

TEST(Neighbours, RespectTheirLimits) {
  int64_t calls = 0;
  const Trial counted = [&](const Case& test_case) {
    ++calls;
    return tile_bug(test_case);
  };
  NeighbourOptions options;
  options.max_queries = 7;
  Neighbours neighbours = find_neighbours(masked(), counted, options);
  EXPECT_EQ(calls, 7);
  EXPECT_EQ(neighbours.queries, 7);
  EXPECT_TRUE(neighbours.exhausted);
  options = {};
  options.max_seconds = 0;
  EXPECT_EQ(find_neighbours(masked(), counted, options).queries, 0);
  options = {};
  options.max_elements = 60;  // twice the case's 153 elements are always allowed
  find_neighbours(
      masked(),
      [&](const Case& test_case) {
        int64_t elements = 0;
        for (ValueId v = 0; v < test_case.graph.value_count(); ++v)
          elements += element_count(test_case.graph.type(v));
        EXPECT_LE(elements, 306);
        return Outcome::passes;
      },
      options);
}

// What fails only while two axes are equal is not tied to the size that they happen to have.
TEST(Neighbours, EqualAxesMoveTogether) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {7, 24}}, Normal{}),
                w = b.input("w", {Dtype::f32, {24, 24}}, Normal{});
  b.output(b.node(Linear{}, {x, w}, "y"));
  const Trial square = [](const Case& test_case) {
    const Shape& shape = test_case.graph.type(1).shape;
    return shape[0] == shape[1] && shape[0] >= 5 ? Outcome::fails : Outcome::passes;
  };
  const Neighbours neighbours = find_neighbours(case_of(b), square);
  ASSERT_EQ(neighbours.sizes.size(), 2u);
  EXPECT_THAT(neighbours.sizes[0].axes, ElementsAre("x axis 0"));
  const SizeNeighbours& together = neighbours.sizes[1];
  EXPECT_THAT(together.axes, ElementsAre("x axis 1", "w axis 0"));
  EXPECT_EQ(together.rule->text(), "N >= 5");
}

// A neighbour that passes on the case's own data may fail on other data.
TEST(Neighbours, OtherDataIsTriedBeforeASizePasses) {
  Builder b;
  b.output(b.node(Relu{}, {b.input("x", {Dtype::f32, {4}}, OneHot{1, 1})}, "y"));
  const Trial last_element = [](const Case& test_case) {
    const Tensor x = make_inputs(test_case)[0];
    return x.value(x.size() - 1) != 0 ? Outcome::fails : Outcome::passes;
  };
  const Neighbours neighbours = find_neighbours(case_of(b), last_element);
  EXPECT_EQ(neighbours.sizes[0].rule->text(), "always");
}

// Sizes to which the rewrite does not apply say nothing about its kernel.
TEST(Neighbours, WhatTheRewriteIsNotAppliedToStandsApart) {
  const Trial even_only = [](const Case& test_case) {
    const int64_t keys = test_case.graph.type(0).shape[1];
    return keys % 2 == 0 ? Outcome::not_applied : keys >= 9 ? Outcome::fails : Outcome::passes;
  };
  const SizeNeighbours keys = find_neighbours(masked(), even_only).sizes[1];
  EXPECT_EQ(keys.not_applied.count(16), 1u);
  EXPECT_EQ(keys.tried.count(16), 0u);
  EXPECT_FALSE(keys.rule.has_value());  // 8, the other side of the limit, cannot be tried
}

TEST(Neighbours, WhatCannotBeJudgedIsNotCounted) {
  const Trial narrow = [](const Case& test_case) {
    return test_case.graph.type(0).shape[1] > 20 ? Outcome::other : tile_bug(test_case);
  };
  const Neighbours neighbours = find_neighbours(masked(), narrow);
  EXPECT_EQ(neighbours.sizes[1].tried.rbegin()->first, 19);
  EXPECT_FALSE(neighbours.sizes[1].rule.has_value());  // 16 alone passes
}

const ChoiceNeighbours& choice(const Neighbours& neighbours, const std::string& what) {
  static const ChoiceNeighbours none;
  const auto found = std::find_if(neighbours.choices.begin(), neighbours.choices.end(),
                                  [&](const ChoiceNeighbours& one) { return one.what == what; });
  return found == neighbours.choices.end() ? none : *found;
}

Case gelu_and_add() {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {4}}, Normal{}), y = b.input("y", {Dtype::f32, {4}}, Normal{});
  b.output(b.node(Add{}, {b.node(Gelu{}, {x}, "g"), y}, "sum"));
  return case_of(b);
}

// An op that others can stand for does not matter to the mistake.
TEST(Neighbours, NameTheOpThatMatters) {
  const Trial wrong_gelu = [](const Case& test_case) {
    return first_node<Gelu>(test_case.graph) ? Outcome::fails : Outcome::passes;
  };
  const Neighbours neighbours = find_neighbours(gelu_and_add(), wrong_gelu);
  const ChoiceNeighbours &gelu = choice(neighbours, "op of g"), &sum = choice(neighbours, "op of sum");
  EXPECT_EQ(gelu.value, "gelu");
  // Every op that can stand in its place, also those that are added later.
  EXPECT_THAT(gelu.passing, IsSupersetOf({"scale", "relu", "silu", "softcap", "mish"}));
  EXPECT_THAT(gelu.passing, Not(Contains(AnyOf("gelu", "add", "softmax", "silu_backward"))));
  EXPECT_THAT(gelu.failing, IsEmpty());
  EXPECT_THAT(sum.failing, IsSupersetOf({"sub", "mul", "div", "maximum", "relu", "gelu", "silu_backward"}));
  EXPECT_THAT(choice(neighbours, "operand order of sum").failing, ElementsAre("exchanged"));
}

TEST(Neighbours, NameTheOrderOfOperandsTheNormAndTheBias) {
  const Trial left_is_source = [](const Case& test_case) {
    const Node* sum = first_node<Add>(test_case.graph);
    return sum && test_case.graph.name(sum->inputs[0]) == "g" ? Outcome::fails : Outcome::passes;
  };
  EXPECT_THAT(choice(find_neighbours(gelu_and_add(), left_is_source), "operand order of sum").passing,
              ElementsAre("exchanged"));
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {2, 2}}, Normal{}),
                bias = b.input("b", {Dtype::f32, {2}}, Normal{});
  b.output(b.node(LayerNorm{}, {b.node(Linear{}, {x, x, bias}, "l")}, "n"));
  const Trial wrong_norm = [](const Case& test_case) {
    return first_node<LayerNorm>(test_case.graph) ? Outcome::fails : Outcome::passes;
  };
  const Neighbours neighbours = find_neighbours(case_of(b), wrong_norm);
  EXPECT_THAT(choice(neighbours, "op of n").passing, ElementsAre("rms_norm"));
  EXPECT_THAT(choice(neighbours, "bias of l").failing, ElementsAre("none"));
}

// NaN in place of a wrong number is the same mistake with another op, but not with another size.
TEST(Neighbours, AnotherWrongValueCountsForOpsAlone) {
  const Case test_case = gelu_and_add();
  const Trial alike = [&](const Case& other) {
    return other.graph == test_case.graph ? Outcome::fails : Outcome::fails_alike;
  };
  const Neighbours neighbours = find_neighbours(test_case, alike);
  EXPECT_GE(choice(neighbours, "op of g").failing.size(), 10u);
  EXPECT_THAT(choice(neighbours, "dtype").failing, IsEmpty());
  EXPECT_THAT(neighbours.sizes, IsEmpty());
}

TEST(Neighbours, PermutationsAndEquationsAreChoices) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {2, 3, 4}}, Normal{});
  const ValueId p = b.node(Permute{{1, 0, 2}}, {x}, "p");
  b.output(b.node(Einsum{"kid,kjd->ijd"}, {p, p}, "y"));
  const Trial trial = [](const Case& test_case) {
    const auto& nodes = test_case.graph.nodes();
    const bool identity = std::get<Permute>(nodes[0].op).dims == Shape{0, 1, 2};
    return identity || std::get<Einsum>(nodes[1].op).equation != "kid,kjd->ijd" ? Outcome::passes
                                                                                : Outcome::fails;
  };
  const Neighbours neighbours = find_neighbours(case_of(b), trial);
  EXPECT_THAT(choice(neighbours, "dims of p").passing, ElementsAre("[0,1,2]"));
  EXPECT_THAT(choice(neighbours, "dims of p").failing, ElementsAre("[1,2,0]", "[2,0,1]"));
  EXPECT_THAT(choice(neighbours, "equation of y").passing, ElementsAre("ikd,jkd->ijd"));
}

// 33 passes with all but one draw of the data.
TEST(Neighbours, ASizeThatPassesAgainstTheRuleIsTriedOnMoreData) {
  Builder b;
  b.output(b.node(Relu{}, {b.input("x", {Dtype::f32, {5}}, Normal{})}, "y"));
  const Case start = case_of(b);
  const Trial by_16 = [&](const Case& test_case) {
    const int64_t size = test_case.graph.type(0).shape[0];
    if (size == 33 && test_case.seed != start.seed + 5) return Outcome::passes;
    return size % 16 == 0 ? Outcome::passes : Outcome::fails;
  };
  const Neighbours neighbours = find_neighbours(start, by_16);
  ASSERT_TRUE(neighbours.sizes[0].rule.has_value());
  EXPECT_EQ(neighbours.sizes[0].rule->text(), "N mod 16 != 0");
  EXPECT_TRUE(neighbours.sizes[0].tried.at(33));
}

Case relu_of(int64_t size, Fill fill) {
  Builder b;
  b.output(b.node(Relu{}, {b.input("x", {Dtype::f32, {size}}, std::move(fill))}, "y"));
  return case_of(b);
}

Trial by_data(const std::function<bool(const std::vector<double>&)>& fails) {
  return [=](const Case& test_case) {
    return fails(to_f64(make_inputs(test_case)[0])) ? Outcome::fails : Outcome::passes;
  };
}

constexpr char kByData[] = "depends on the data";

// The rule of the only axis.
std::string rule_of(const Case& test_case, const Trial& trial) {
  const Neighbours neighbours = find_neighbours(test_case, trial);
  EXPECT_EQ(neighbours.sizes.size(), 1u);
  const SizeNeighbours& sizes = neighbours.sizes[0];
  EXPECT_FALSE(sizes.rule && sizes.depends_on_data);
  return sizes.depends_on_data ? kByData : sizes.rule ? sizes.rule->text() : "";
}

TEST(Neighbours, ATailBeyondALimitIsARuleOfItsTile) {
  const auto rule = [](int64_t size, const std::function<bool(int64_t)>& fails) {
    return rule_of(relu_of(size, Normal{}),
                   by_data([=](const auto& x) { return fails(static_cast<int64_t>(x.size())); }));
  };
  EXPECT_EQ(rule(513, [](int64_t n) { return n > 512 && n % 512 != 0; }), "N mod 512 != 0 and N >= 513");
  EXPECT_EQ(rule(129, [](int64_t n) { return n > 128 && n % 128 != 0; }), "N mod 128 != 0 and N >= 129");
  EXPECT_EQ(rule(256, [](int64_t n) { return n == 256; }), "N == 256");
  EXPECT_EQ(rule(65, [](int64_t n) { return n >= 65; }), "N >= 65");
}

Literal ones_and(double last, int64_t size) {
  Tensor tensor({Dtype::f32, {size}});
  for (int64_t i = 0; i < size; ++i) tensor.set(i, i + 1 == size ? last : 1);
  return literal_of(tensor);
}

// NaN at index 12 is no limit of 13: a smaller size crops it.
TEST(Neighbours, AnElementOfTheDataIsNoLimit) {
  const auto has_nan = [](const std::vector<double>& x) {
    return std::any_of(x.begin(), x.end(), [](double value) { return std::isnan(value); });
  };
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Case literal = relu_of(13, ones_and(std::nan(""), 13)), drawn = relu_of(13, Special{0.05, true});
    literal.seed = drawn.seed = seed;
    EXPECT_THAT(rule_of(literal, by_data(has_nan)), AnyOf("always", kByData)) << seed;
    if (by_data(has_nan)(drawn) != Outcome::fails) continue;
    EXPECT_THAT(rule_of(drawn, by_data(has_nan)), AnyOf("always", kByData)) << seed;
  }
}

// The more elements, the more often one is beyond 2 deviations.
TEST(Neighbours, WhatFailsWithMoreDataAsTheSizeGrowsIsNoLimit) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Case start = relu_of(9, Normal{});
    start.seed = seed;
    const Trial large = by_data([](const auto& x) {
      return std::any_of(x.begin(), x.end(), [](double value) { return value > 2.2; });
    });
    if (large(start) != Outcome::fails) continue;
    EXPECT_THAT(rule_of(start, large), AnyOf("", kByData)) << seed;
  }
}

// A size fails or passes by the toss of a coin that the data decides.
TEST(Neighbours, AccidentsAreNoRemainders) {
  const Trial coin = by_data(
      [](const auto& x) { return std::accumulate(x.begin(), x.end(), 0.0) > std::sqrt(x.size()) / 2; });
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Case start = relu_of(6, Normal{});
    start.seed = seed;
    if (coin(start) != Outcome::fails) continue;
    EXPECT_THAT(rule_of(start, coin), AnyOf("always", "", kByData)) << seed;
  }
}

// A kernel that needs large data to fail, and a size beyond a limit.
TEST(Neighbours, DataAndSizeTogetherAreARule) {
  const Trial large_and_long =
      by_data([](const auto& x) { return x.size() >= 40 && *std::max_element(x.begin(), x.end()) > 100; });
  EXPECT_EQ(rule_of(relu_of(40, Normal{1000, 10}), large_and_long), "N >= 40");
  EXPECT_EQ(rule_of(relu_of(40, ones_and(500, 40)), large_and_long), "N >= 40");
}

// A maximum that is not carried from one tile to the next: most data of 33 elements passes, none of 32 fails.
TEST(Neighbours, WhatFailsWithFewDataBeyondALimitIsARule) {
  const Trial not_carried = by_data([](const auto& x) {
    return x.size() > 32 &&
           *std::max_element(x.begin() + 32, x.end()) > *std::max_element(x.begin(), x.begin() + 32);
  });
  EXPECT_EQ(rule_of(relu_of(33, ones_and(5, 33)), not_carried), "N >= 33");
}

// The limit leaves a few sizes for each axis, and the others are named.
TEST(Neighbours, ShareALimitBetweenTheAxes) {
  Builder b;
  b.output(b.node(Relu{}, {b.input("x", {Dtype::f32, {5, 6, 7, 8}}, Normal{})}, "y"));
  NeighbourOptions options;
  options.max_queries = 30;
  const Neighbours neighbours = find_neighbours(
      case_of(b), [](const Case&) { return Outcome::fails; }, options);
  ASSERT_EQ(neighbours.sizes.size(), 4u);
  for (const SizeNeighbours& sizes : neighbours.sizes) EXPECT_GE(sizes.tried.size(), 7u);
  EXPECT_THAT(neighbours.untried,
              ElementsAre("x axis 0", "x axis 1", "x axis 2", "x axis 3", "magnitudes", "ops"));
}

}  // namespace
}  // namespace fusesmith::minimizer
