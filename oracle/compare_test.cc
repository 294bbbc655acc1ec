// Stored bits against intervals: what counts as outside, exact, unknown or loose, and which element is shown.
#include <gtest/gtest.h>

#include "oracle/region_judge.h"
#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

struct Element {
  double v, e, got;
};

// compare() on one output "y" with these elements.
Comparison compare_elements(Dtype dtype, const std::vector<Element>& elements) {
  const TensorType type{dtype, {static_cast<int64_t>(elements.size())}};
  Builder b;
  b.output(b.node(Dropout{}, {b.input("x", {Dtype::f32, type.shape}, Constant{})}, "y"));
  const Graph graph = *b.build();
  auto bounded = std::make_shared<Bounded>(type);
  auto stored = std::make_shared<Tensor>(type);
  for (size_t i = 0; i < elements.size(); ++i) {
    bounded->set(i, elements[i].v, elements[i].e);
    stored->set(static_cast<int64_t>(i), elements[i].got);
  }
  Trace trace;
  trace.values = {nullptr, stored};
  return compare(graph, {{1, bounded, true}}, trace);
}

TEST(Compare, CountsEachElementOnce) {
  const Comparison c = compare_elements(Dtype::bf16, {{1, 0, 1},          // exact and right
                                                      {1, 0, 1.0078125},  // exact and wrong
                                                      {1, 0.01, 1.0078125},
                                                      {1, 0.001, 1.0078125},
                                                      {2, kInf, 77}});
  EXPECT_EQ(c.elements, 5);
  EXPECT_EQ(c.exact, 2);
  EXPECT_EQ(c.outside, 2);
  EXPECT_EQ(c.unknown, 1);
  EXPECT_EQ(c.outside_special, 0);
  EXPECT_FALSE(c.lawful());
  EXPECT_EQ(c.worst.element, 1);
}

TEST(Compare, ShowsTheWidestMargin) {
  std::vector<Element> elements(50, {1, 1e-6, 1});
  elements[20].got = 1 + 4e-6;
  elements[30].got = 1 + 9e-6;
  elements[40].got = 1 - 5e-6;
  const Comparison c = compare_elements(Dtype::f32, elements);
  EXPECT_EQ(c.outside, 3);
  EXPECT_EQ(c.worst.element, 30);
  EXPECT_EQ(c.worst.value, "y");
  EXPECT_GT(c.worst_share, 5);
  EXPECT_EQ(c.worst.bound, 1e-6);
  EXPECT_LE(c.worst.lo, 1 - 0.9e-6);
  EXPECT_GE(c.worst.hi, 1 + 0.9e-6);
}

// How many stored values lie between what was got and the interval.
TEST(Compare, SaysHowManyStoredStepsOutside) {
  const auto steps = [](Dtype dtype, Element x) { return compare_elements(dtype, {x}).worst.steps_outside; };
  EXPECT_EQ(steps(Dtype::bf16, {1, 0, 1.0078125}), 1);
  EXPECT_EQ(steps(Dtype::bf16, {1, 0, 2.015625}), 129);
  EXPECT_EQ(steps(Dtype::bf16, {1, 0, 0.99609375}), 1) << "below a power of two values lie closer";
  EXPECT_EQ(steps(Dtype::f32, {1, 0x1p-23, 1 + 0x1p-20}), 7) << "the bound reaches one value further";
  EXPECT_EQ(steps(Dtype::f32, {-1, 0, 1}), int64_t{2} * 0x3f800000);
  EXPECT_EQ(steps(Dtype::f16, {0x1p-24, 0, 0x1p-14}), 1023) << "subnormal";
  EXPECT_EQ(steps(Dtype::f16, {0x1p-24, 0, -0x1p-24}), 2);
  EXPECT_EQ(steps(Dtype::i32, {5, 0, -2}), 7);
  EXPECT_EQ(steps(Dtype::f32, {1, 0, kInf}), 0);
  EXPECT_EQ(steps(Dtype::f32, {1, 0, kNan}), 0);
  EXPECT_EQ(steps(Dtype::f32, {1, 1e-6, 1}), 0);
}

TEST(Compare, SharesOfLawfulElements) {
  const Comparison c =
      compare_elements(Dtype::f32, {{1, 1e-6, 1}, {1, 1e-6, 1 + 0x1p-22}, {1, 1e-6, 1 + 0x1p-21}});
  EXPECT_TRUE(c.lawful());
  EXPECT_EQ(c.worst.element, 2);
  EXPECT_NEAR(c.worst_share, 0x1p-21 / (1e-6 + 0x1p-24), 1e-9);
  EXPECT_NEAR(c.median_share, 0x1p-22 / (1e-6 + 0x1p-24), 1e-9);
}

TEST(Compare, Specials) {
  EXPECT_TRUE(compare_elements(Dtype::f32, {{kNan, 0, kNan}, {kInf, 0, kInf}, {-kInf, 0, -kInf}}).lawful());
  const auto symptom = [](Element x) {
    const Comparison c = compare_elements(Dtype::f16, {{1, 0.1, 1}, x});
    EXPECT_EQ(c.outside_special, 1);
    EXPECT_EQ(c.outside, 0);
    EXPECT_EQ(c.worst.element, 1);
    return c.special_symptom;
  };
  EXPECT_EQ(symptom({1, 0.1, kNan}), Symptom::nan);
  EXPECT_EQ(symptom({1, 0.1, kInf}), Symptom::infinity);
  EXPECT_EQ(symptom({kNan, 0, 1}), Symptom::missing_nan);
  EXPECT_EQ(symptom({kInf, 0, 1}), Symptom::missing_infinity);
  EXPECT_EQ(symptom({kInf, 0, -kInf}), Symptom::infinity);
  EXPECT_EQ(symptom({70000, 1, 65504}), Symptom::missing_infinity);
}

// An interval that reaches infinity allows it, and is an ordinary interval for finite values.
TEST(Compare, IntervalsThatReachInfinity) {
  const Element edge{65500, 100, 0};
  for (double got : {65504.0, 65440.0, kInf})
    EXPECT_TRUE(compare_elements(Dtype::f16, {{edge.v, edge.e, got}}).lawful()) << got;
  const Comparison c = compare_elements(Dtype::f16, {{edge.v, edge.e, 5}});
  EXPECT_EQ(c.outside, 1);
  EXPECT_EQ(c.outside_special, 0);
  EXPECT_EQ(compare_elements(Dtype::f16, {{edge.v, edge.e, -kInf}}).outside_special, 1);
}

TEST(Compare, IntegersAndBooleansMustBeEqual) {
  EXPECT_TRUE(compare_elements(Dtype::i32, {{7, 0, 7}, {-3, 0, -3}}).lawful());
  EXPECT_EQ(compare_elements(Dtype::i32, {{16777217, 0, 16777216}}).outside, 1);
  EXPECT_EQ(compare_elements(Dtype::boolean, {{1, 0, 0}}).outside, 1);
}

TEST(Compare, LooseMeansNothingCanBeSaid) {
  EXPECT_TRUE(compare_elements(Dtype::f32, {{1, 0.2, 1}, {0.5, 0.2, 0.5}}).mostly_loose);
  EXPECT_TRUE(compare_elements(Dtype::f32, {{1, 0.2, 1}, {1, 1e-3, 1}}).mostly_loose);
  EXPECT_FALSE(compare_elements(Dtype::f32, {{1, 0.2, 1}, {1, 1e-3, 1}, {1, 1e-3, 1}}).mostly_loose);
  EXPECT_EQ(compare_elements(Dtype::f32, {{1, 0.2, 1}, {1, 1e-3, 1}, {1, 1e-3, 1}}).loose, 1);
  // One that is small by chance.
  EXPECT_FALSE(compare_elements(Dtype::f32, {{1, 1e-3, 1}, {1, 1e-3, 1}, {1e-6, 1e-3, 0}}).mostly_loose);
  // All but one are.
  EXPECT_TRUE(compare_elements(Dtype::f32, {{1, 1e-3, 1}, {1e-3, 1e-3, 0}, {1e-3, 1e-3, 0}}).mostly_loose);
  EXPECT_EQ(compare_elements(Dtype::f32, {{1, 0, 1}, {1, kInf, 0}}).unknown, 1);
  // All zeros with nothing but the underflow floor: as tight as can be.
  EXPECT_FALSE(compare_elements(Dtype::f32, {{0, 0x1p-125, 0}, {0, 0x1p-125, 0}}).mostly_loose);
}

// Bits made under one reading speak for it, and against the other; where both agree they are silent.
TEST(Preference, TellsReadingsApart) {
  const TensorType type{Dtype::bf16, {200}};
  Rng rng(1);
  auto a = std::make_shared<Bounded>(type), b = std::make_shared<Bounded>(type);
  auto stored = std::make_shared<Tensor>(type);
  for (size_t i = 0; i < a->v.size(); ++i) {
    a->v[i] = rng.normal();
    b->v[i] = a->v[i] * (1 + 0x1p-8 * rng.sign());
    stored->set(static_cast<int64_t>(i), a->v[i]);
  }
  Trace trace;
  trace.values = {stored};
  const double score = preference({{0, a, true}}, {{0, b, true}}, trace);
  EXPECT_GT(score, 5);
  EXPECT_EQ(preference({{0, b, true}}, {{0, a, true}}, trace), -score);
  EXPECT_EQ(preference({{0, a, true}}, {{0, a, true}}, trace), 0);
}

}  // namespace
}  // namespace fusesmith::oracle
