// What explains a failure is found in few judgements, and says something.
#include "oracle/explain_by_arithmetic.h"

#include <gtest/gtest.h>

#include "oracle/evaluate.h"
#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

constexpr int64_t kGivenRows = 4, kGivenWidth = 24;

// One node on data of a normal distribution, some of which is far from 0.
struct Given {
  Graph graph;
  Region region;
  Trace trace;
};

Given given(const Op& op, Dtype dtype, size_t inputs) {
  Builder b;
  Rng random(7);
  Trace trace;
  std::vector<ValueId> values;
  const TensorType type{dtype, {kGivenRows, kGivenWidth}}, row{dtype, {kGivenWidth}};
  for (size_t i = 0; i < inputs; ++i) {
    const bool is_gain = std::holds_alternative<LayerNorm>(op) && i > 0;
    values.push_back(b.input("x" + std::to_string(i), is_gain ? row : type, Normal{}));
    trace.values.push_back(std::make_shared<Tensor>(make_tensor(
        is_gain ? row : type, [&](int64_t k) { return random.normal() + (k % 5 == 0 ? 9 : 1); })));
  }
  b.output(b.node(op, values, "y"));
  Graph graph = *b.build();
  trace.values.resize(static_cast<size_t>(graph.value_count()));
  Region region = make_region(graph, {0});
  return {std::move(graph), std::move(region), std::move(trace)};
}

std::vector<std::pair<Op, size_t>> tried_ops() {
  return {{Softmax{}, 1},
          {LogSoftmax{}, 1},
          {LogSumExp{{-1}, false}, 1},
          {LayerNorm{1e-5}, 1},
          {LayerNorm{1e-5}, 3},
          {RmsNorm{}, 1},
          {Matmul{false, true}, 2},
          {Sigmoid{}, 1},
          {Tanh{}, 1},
          {Gelu{}, 1},
          {Silu{}, 1},
          {Exp{}, 1},
          {Erf{}, 1},
          {Div{}, 2},
          {Rsqrt{}, 1},
          {Sqrt{}, 1},
          {ReduceSum{{-1}, false}, 1},
          {ReduceMean{{-1}, false}, 1},
          {SoftmaxBackward{}, 2},
          {TanhBackward{}, 2},
          {VarMean{{-1}, 0, false}, 1}};
}

using Chosen = std::vector<const KnownArithmetic*>;

std::vector<RegionOutput> bounds_with(const Given& of, const Chosen& chosen) {
  Region region = of.region;
  for (const KnownArithmetic* one : chosen) one->grant(of.graph, of.region, region.contract);
  return evaluate(of.graph, region, of.trace, {region.contract.deviations});
}

// Whether every number that `narrow` allows is allowed.
void expect_contains(const Bounded& wide, const Bounded& narrow, const std::string& what) {
  for (size_t i = 0; i < wide.v.size(); ++i) {
    if (std::isinf(wide.error(i)) || (std::isnan(wide.v[i]) && std::isnan(narrow.v[i]))) continue;
    EXPECT_LE(wide.v[i] - wide.error(i), narrow.v[i] - narrow.error(i)) << what << " at " << i;
    EXPECT_GE(wide.v[i] + wide.error(i), narrow.v[i] + narrow.error(i)) << what << " at " << i;
  }
}

// The premise of judging them all at once.
TEST(ExplainByArithmetic, AllThatWidensContainsEachOfThem) {
  const Chosen all = widening_arithmetics();
  ASSERT_GT(all.size(), 15u);
  int wider = 0;
  for (const auto& [op, inputs] : tried_ops()) {
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
      const Given one = given(op, dtype, inputs);
      const auto wide = bounds_with(one, all), plain = bounds_with(one, {});
      for (const KnownArithmetic* arithmetic : all) {
        const auto narrow = bounds_with(one, {arithmetic});
        for (size_t o = 0; o < wide.size(); ++o) {
          const std::string what = std::string(info(op).name) + ", " + arithmetic->diagnosis.name;
          expect_contains(*wide[o].bounded, *narrow[o].bounded, what);
          expect_contains(*narrow[o].bounded, *plain[o].bounded, what + ", beside none");
          wider += narrow[o].bounded->error(1) > plain[o].bounded->error(1);
        }
      }
    }
  }
  EXPECT_GT(wider, 50) << "most change nothing";
}

// Those that widen cost one judgement for excuses and one for all that may be named, and so does each other
// formula.
TEST(ExplainByArithmetic, WhatNothingExplainsIsJudgedFewTimes) {
  for (const auto& [op, inputs] : tried_ops()) {
    const Given one = given(op, Dtype::f32, inputs);
    int asked = 0, others = 0;
    explain_by_arithmetic(one.graph, one.region, {.all = true}, [&](const Contract&, bool) {
      ++asked;
      return Within::no;
    });
    for (const KnownArithmetic& arithmetic : known_arithmetics()) {
      Contract contract = one.region.contract;
      if (arithmetic.widens || arithmetic.is_sharper) continue;
      others += arithmetic.grant(one.graph, one.region, contract);
    }
    EXPECT_LE(asked, 2 + 5 * others) << info(op).name;
    EXPECT_GE(asked, 2) << info(op).name;
  }
}

// Bounds that contain anything name nothing, whatever they contain.
TEST(ExplainByArithmetic, ALossIsNamedWhereItsBoundsLeaveAVerdict) {
  const Given one = given(ReduceSum{{-1}, false}, Dtype::bf16, 1);
  const auto named = [&](Within with_sums) {
    const auto found =
        explain_by_arithmetic(one.graph, one.region, {.all = true}, [&](const Contract& contract, bool) {
          return contract.arithmetic.sum > one.region.contract.arithmetic.sum ? with_sums : Within::no;
        });
    return found ? found->diagnoses[0].name : "";
  };
  EXPECT_EQ(named(Within::decidedly), "partial_sums_in_bf16");
  EXPECT_EQ(named(Within::loosely), "");
  EXPECT_EQ(named(Within::no), "");
}

}  // namespace
}  // namespace fusesmith::oracle
