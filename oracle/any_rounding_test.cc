// Regions of a compiler that may leave out any implicit rounding: every choice passes, whichever it is for
// each element; what no choice gives still fails.
#include <gtest/gtest.h>

#include "oracle/region_judge.h"
#include "oracle/test_executor.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

// Seven elementwise nodes in bf16, `cast` among them if asked for: more roundings than are tried in all
// subsets.
struct Chain {
  Graph graph;
  std::vector<Tensor> inputs;
  std::vector<std::string> inner;  // implicit roundings that may be left out

  explicit Chain(bool with_cast = false) {
    Builder b;
    const TensorType type{Dtype::bf16, {400}};
    const ValueId x = b.input("a", type, Normal{}), y = b.input("b", type, Normal{});
    ValueId v = b.node(Sigmoid{}, {x}, "gated");
    v = b.node(Mul{}, {v, y}, "product");
    if (with_cast) {
      v = b.node(Cast{Dtype::f32}, {v}, "wide");
      v = b.node(Scale{1.25}, {v}, "scaled");
      v = b.node(Cast{Dtype::bf16}, {v}, "narrow");
    }
    v = b.node(Add{}, {v, x}, "sum");
    v = b.node(Silu{}, {v}, "silu");
    v = b.node(Mul{}, {v, y}, "scaled_silu");
    v = b.node(Sigmoid{}, {v}, "outer");
    b.output(b.node(Add{}, {v, y}, "y"));
    graph = *b.build();
    inner = {"gated", "product", "sum", "silu", "scaled_silu", "outer"};
    Rng rng(7);
    for (int i = 0; i < 2; ++i) inputs.push_back(make_tensor(type, [&](int64_t) { return rng.normal(); }));
  }

  Plan plan(Roundings roundings = Roundings::any) const {
    std::vector<int> nodes(graph.nodes().size());
    std::iota(nodes.begin(), nodes.end(), 0);
    Plan plan;
    plan.regions.push_back(make_region(graph, nodes));
    plan.regions[0].contract.roundings = roundings;
    return plan;
  }
  Trace run(std::set<std::string> dropped) const { return Executor(std::move(dropped)).run(graph, inputs); }
  std::set<std::string> some(Rng& rng) const {
    std::set<std::string> chosen;
    for (const std::string& value : inner) {
      if (rng.below(2) == 1) chosen.insert(value);
    }
    return chosen;
  }
  Tensor& output(Trace& trace) const {
    TensorPtr& value = trace.values[static_cast<size_t>(graph.outputs()[0])];
    auto copy = std::make_shared<Tensor>(*value);
    value = copy;
    return *copy;
  }
};

TEST(AnyRounding, EverySubsetPasses) {
  const Chain chain;
  Rng rng(1);
  for (int trial = 0; trial < 40; ++trial) {
    const auto dropped = chain.some(rng);
    const RegionVerdict verdict = judge_region(chain.graph, chain.plan(), 0, chain.run(dropped), {});
    EXPECT_EQ(verdict.outside, 0);
    EXPECT_EQ(name(verdict.verdict), dropped.empty() ? "reassociation" : "precision_policy");
    EXPECT_TRUE(verdict.declared);
    EXPECT_EQ(verdict.symptom, Symptom::none);
  }
}

// As by a compiler that computes parts of a tensor in different kernels.
TEST(AnyRounding, AnotherSubsetForEachElementPasses) {
  const Chain chain;
  Rng rng(2);
  for (int trial = 0; trial < 20; ++trial) {
    Trace trace = chain.run(chain.some(rng));
    for (int more = 0; more < 3; ++more) {
      Trace other = chain.run(chain.some(rng));
      Tensor &into = chain.output(trace), &from = chain.output(other);
      for (int64_t i = 0; i < into.size(); ++i) {
        if (rng.below(3) == 0) into.set(i, from.value(i));
      }
    }
    EXPECT_EQ(judge_region(chain.graph, chain.plan(), 0, trace, {}).outside, 0);
  }
}

TEST(AnyRounding, WhatNoSubsetGivesFails) {
  const Chain chain;
  Rng rng(3);
  for (int trial = 0; trial < 20; ++trial) {
    Trace trace = chain.run(chain.some(rng));
    Tensor& output = chain.output(trace);
    const int64_t i = rng.below(output.size());
    output.set(i, output.value(i) + 0.25 * rng.sign());  // far more than the roundings of values near 1
    const RegionVerdict verdict = judge_region(chain.graph, chain.plan(), 0, trace, {});
    EXPECT_EQ(name(verdict.verdict), "defect");
    EXPECT_EQ(verdict.outside, 1);
    EXPECT_EQ(verdict.worst.element, i);
  }
}

// An opaque program has one region in all, so the op of its last node would name every failure.
TEST(AnyRounding, AFailureIsNamedByTheOpThatComputesTheValue) {
  Builder b;
  const TensorType type{Dtype::f32, {5}};
  const ValueId x = b.input("x", type, Normal{});
  const ValueId first = b.node(Sigmoid{}, {x}, "first");
  b.output(first);
  b.output(b.node(Add{}, {x, x}, "last"));
  const Graph graph = *b.build();
  Plan plan;
  plan.regions.push_back(make_region(graph, {0, 1}));
  plan.regions[0].contract.roundings = Roundings::any;
  Rng rng(1);
  const std::vector<Tensor> inputs = {make_tensor(type, [&](int64_t) { return rng.normal(); })};
  Trace trace = Executor(std::set<std::string>{}).run(graph, inputs);
  auto wrong = std::make_shared<Tensor>(*trace.values[static_cast<size_t>(first)]);
  wrong->set(2, 3);
  trace.values[static_cast<size_t>(first)] = wrong;
  const RegionVerdict verdict = judge_region(graph, plan, 0, trace, {});
  EXPECT_EQ(verdict.op, "sigmoid");
  EXPECT_EQ(verdict.name, "first");
}

TEST(AnyRounding, ExplicitCastsStay) {
  const Chain chain(true);
  const Trace trace = chain.run({"narrow"});
  const RegionVerdict verdict = judge_region(chain.graph, chain.plan(), 0, trace, {});
  // What covers all readings is wide: that a cast was left out may lie within it, but no bit pattern that
  // only this explains passes as an exact reading.
  EXPECT_NE(name(verdict.verdict), "reassociation");
  for (const Deviation& d : verdict.deviations) EXPECT_NE(d.value, "narrow");
}

TEST(AnyRounding, WithoutItTheSameIsUndeclared) {
  const Chain chain;
  const RegionVerdict verdict = judge_region(chain.graph, chain.plan(Roundings::kept), 0,
                                             chain.run({chain.inner.begin(), chain.inner.end()}), {});
  EXPECT_EQ(verdict.symptom, Symptom::undeclared_rounding);
}

TEST(AnyRounding, WhatMayBeDroppedIsNamed) {
  EXPECT_EQ(to_string(Deviation{Deviation::Kind::maybe, "x", Dtype::bf16, 0, ""}), "may drop x");
}

TEST(AnyRounding, CoversBothReadings) {
  Rng rng(5);
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16}) {
    for (int trial = 0; trial < 2000; ++trial) {
      Bounded kept(TensorType{dtype, {1}});
      kept.set(0, 10 * rng.normal(), std::fabs(rng.normal()) * 1e-3);
      Bounded dropped = kept, either = kept;
      pass_on(kept, true, true, 0);
      pass_on(dropped, true, false, 0);
      pass_on_either(either, true);
      for (const Bounded* one : {&kept, &dropped}) {
        EXPECT_LE(either.v[0] - either.error(0), one->v[0] - one->error(0));
        EXPECT_GE(either.v[0] + either.error(0), one->v[0] + one->error(0));
      }
    }
  }
}

}  // namespace
}  // namespace fusesmith::oracle
