// One region under the strict reading, under what its contract declares and under what it does not: the
// verdict, the roundings named and the element out of bounds.
#include "oracle/region_judge.h"

#include <gtest/gtest.h>

#include "oracle/test_executor.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

struct Fixture {
  Graph graph;
  std::vector<Tensor> inputs;

  // One region of all nodes, declaring that these roundings may be dropped.
  Plan plan(const std::vector<std::string>& declared = {}) const {
    std::vector<int> nodes(graph.nodes().size());
    std::iota(nodes.begin(), nodes.end(), 0);
    Plan plan;
    plan.regions.push_back(make_region(graph, nodes));
    for (const std::string& value : declared) {
      plan.regions[0].contract.deviations.push_back(
          {Deviation::Kind::drop, value, Dtype::bf16, 0, "kept in f32"});
    }
    return plan;
  }
  Trace run(std::set<std::string> dropped = {}) const {
    return Executor(std::move(dropped)).run(graph, inputs);
  }
  RegionVerdict judge(const Trace& trace, const std::vector<std::string>& declared = {}) const {
    return judge_region(graph, plan(declared), 0, trace, {});
  }
  Tensor& output(Trace& trace) const {  // to be tampered with
    TensorPtr& value = trace.values[static_cast<size_t>(graph.outputs()[0])];
    auto copy = std::make_shared<Tensor>(*value);
    value = copy;
    return *copy;
  }
};

Fixture make_fixture(Builder& b, ValueId output, uint64_t seed = 1) {
  b.output(output);
  Fixture fixture{*b.build(), {}};
  Rng rng(seed);
  for (const Input& input : fixture.graph.inputs()) {
    fixture.inputs.push_back(make_tensor(input.type, [&](int64_t) {
      return input.type.dtype == Dtype::boolean ? static_cast<double>(rng.below(4) > 0) : rng.normal();
    }));
  }
  return fixture;
}

// gate: sigmoid(a) * b, then + a.
Fixture gate() {
  Builder b;
  const ValueId x = b.input("a", {Dtype::bf16, {300}}, Normal{}),
                y = b.input("b", {Dtype::bf16, {300}}, Normal{});
  const ValueId m = b.node(Mul{}, {b.node(Sigmoid{}, {x}, "s"), y}, "m");
  return make_fixture(b, b.node(Add{}, {m, x}, "y"));
}

std::vector<std::string> deviations_of(const RegionVerdict& verdict) {
  std::vector<std::string> result;
  for (const Deviation& d : verdict.deviations) result.push_back(to_string(d));
  return result;
}

TEST(RegionJudge, KeptRoundingsAreReassociation) {
  const Fixture f = gate();
  const RegionVerdict verdict = f.judge(f.run(), {"s", "m"});
  EXPECT_EQ(verdict.verdict, VerdictClass::reassociation);
  EXPECT_TRUE(verdict.deviations.empty());
  EXPECT_EQ(verdict.outside, 0);
  EXPECT_EQ(verdict.elements, 300);
  EXPECT_LE(verdict.worst_share, 1);
}

TEST(RegionJudge, DroppedAndDeclaredIsNamedExactly) {
  const Fixture f = gate();
  for (const std::set<std::string>& dropped : {std::set<std::string>{"s"}, {"m"}, {"s", "m"}}) {
    const RegionVerdict verdict = f.judge(f.run(dropped), {"s", "m"});
    EXPECT_EQ(verdict.verdict, VerdictClass::precision_policy);
    EXPECT_TRUE(verdict.declared);
    EXPECT_EQ(verdict.symptom, Symptom::none);
    std::vector<std::string> want;
    for (const char* value : {"s", "m"}) {
      if (dropped.count(value)) want.push_back(std::string("drop ") + value);
    }
    EXPECT_EQ(deviations_of(verdict), want);
  }
}

TEST(RegionJudge, DroppedAndUndeclaredIsAFinding) {
  const Fixture f = gate();
  for (const std::vector<std::string>& declared : {std::vector<std::string>{}, {"m"}}) {
    const RegionVerdict verdict = f.judge(f.run({"s"}), declared);
    EXPECT_EQ(verdict.verdict, VerdictClass::precision_policy);
    EXPECT_FALSE(verdict.declared);
    EXPECT_EQ(verdict.symptom, Symptom::undeclared_rounding);
    EXPECT_EQ(deviations_of(verdict), std::vector<std::string>{"drop s"});
  }
}

TEST(RegionJudge, DeclaredAndUndeclaredTogether) {
  const Fixture f = gate();
  const RegionVerdict verdict = f.judge(f.run({"s", "m"}), {"m"});
  EXPECT_EQ(verdict.verdict, VerdictClass::precision_policy);
  EXPECT_FALSE(verdict.declared);
  EXPECT_EQ(verdict.deviations.size(), 2u);
}

TEST(RegionJudge, ASkippedExplicitCastIsADefect) {
  Builder b;
  const ValueId x = b.input("a", {Dtype::f32, {300}}, Normal{}),
                y = b.input("b", {Dtype::bf16, {300}}, Normal{});
  const ValueId cast = b.node(Cast{Dtype::bf16}, {b.node(Sigmoid{}, {x}, "s")}, "c");
  const Fixture f = make_fixture(b, b.node(Mul{}, {cast, y}, "y"));
  EXPECT_EQ(f.judge(f.run()).verdict, VerdictClass::reassociation);
  const RegionVerdict verdict = f.judge(f.run({"c"}));
  EXPECT_EQ(verdict.verdict, VerdictClass::defect);
  EXPECT_EQ(verdict.symptom, Symptom::explicit_cast_skipped);
  EXPECT_EQ(deviations_of(verdict), std::vector<std::string>{"drop c"});
}

// Skipping the cast is a defect even where an implicit rounding beside it was dropped, declared or not.
TEST(RegionJudge, ASkippedCastBesideADroppedRounding) {
  Builder b;
  const ValueId x = b.input("a", {Dtype::bf16, {300}}, Normal{}),
                y = b.input("b", {Dtype::bf16, {300}}, Normal{});
  const ValueId wide = b.node(Cast{Dtype::f32}, {b.node(Sigmoid{}, {x}, "s")}, "wide");
  const ValueId third = b.node(Scale{1.0 / 3}, {wide}, "third");
  const ValueId cast = b.node(Cast{Dtype::bf16}, {third}, "c");
  const Fixture f = make_fixture(b, b.node(Mul{}, {cast, y}, "y"));
  for (const std::vector<std::string>& declared : {std::vector<std::string>{"s"}, {}}) {
    const RegionVerdict verdict = f.judge(f.run({"s", "c"}), declared);
    EXPECT_EQ(verdict.verdict, VerdictClass::defect);
    EXPECT_EQ(verdict.symptom, Symptom::explicit_cast_skipped);
  }
}

// The rounding of m may be left out, which changes its output more than the skipped cast changes the other.
TEST(RegionJudge, ASkippedCastShowsAnElementThatItMakesWrong) {
  Builder b;
  const TensorType narrow = {Dtype::bf16, {1}};
  const ValueId x = b.input("x", narrow, Normal{}), y = b.input("y", narrow, Normal{});
  const ValueId z = b.input("z", narrow, Normal{}), wide = b.input("wide", {Dtype::f32, {1}}, Normal{});
  b.output(b.node(Add{}, {b.node(Mul{}, {x, y}, "m"), z}, "sum"));
  const ValueId cast = b.node(Cast{Dtype::bf16}, {wide}, "c");
  Fixture f = make_fixture(b, b.node(Cast{Dtype::f32}, {cast}, "w"));
  f.inputs[0].set(0, 1 + 0x1p-7), f.inputs[1].set(0, 1 + 0x1p-7), f.inputs[2].set(0, -1 - 0x1p-6);
  f.inputs[3].set(0, 1 + 0x1p-20);
  const Trace trace = f.run({"m", "c"});
  Plan plan = f.plan();
  plan.regions[0].contract.roundings = Roundings::any;
  const RegionVerdict verdict = judge_region(f.graph, plan, 0, trace, {});
  EXPECT_EQ(verdict.symptom, Symptom::explicit_cast_skipped);
  EXPECT_EQ(verdict.worst.value, "w");
  EXPECT_EQ(verdict.outside, 1) << "sum is allowed";
  EXPECT_EQ(deviations_of(verdict), std::vector<std::string>{"drop c"})
      << "what is allowed is not the failure";
  EXPECT_EQ(verdict.component(), "cast.bf16") << "not what happens to read it";
  EXPECT_EQ(verdict.name, "c");
  EXPECT_EQ(verdict.dtype, Dtype::bf16);
  RegionVerdict reading;
  reading.deviations = reported_reading(f.graph, plan.regions[0], trace, verdict, false).deviations;
  EXPECT_EQ(deviations_of(reading), std::vector<std::string>{"may drop m"}) << "intervals of exports";
}

TEST(RegionJudge, OneElementOneStepOff) {
  const Fixture f = gate();
  for (int64_t element : {0, 137, 299}) {
    Trace trace = f.run();
    Tensor& y = f.output(trace);
    ++y.as<uint16_t>()[static_cast<size_t>(element)];
    for (const std::vector<std::string>& declared : {std::vector<std::string>{}, {"s", "m"}}) {
      const RegionVerdict verdict = f.judge(trace, declared);
      EXPECT_EQ(verdict.verdict, VerdictClass::defect);
      EXPECT_EQ(verdict.symptom, Symptom::out_of_bounds);
      EXPECT_EQ(verdict.outside, 1);
      EXPECT_EQ(verdict.worst.element, element);
      EXPECT_EQ(verdict.worst.value, "y");
      EXPECT_EQ(verdict.worst.got, y.value(element));
      EXPECT_GT(std::fabs(verdict.worst.got - verdict.worst.want), 0);
    }
  }
}

TEST(RegionJudge, SpecialsAreExceptional) {
  const Fixture f = gate();
  for (double special : {kNan, kInf, -kInf}) {
    Trace trace = f.run();
    f.output(trace).set(41, special);
    const RegionVerdict verdict = f.judge(trace, {"s", "m"});
    EXPECT_EQ(verdict.verdict, VerdictClass::exceptional);
    EXPECT_EQ(verdict.symptom, std::isnan(special) ? Symptom::nan : Symptom::infinity);
    EXPECT_EQ(verdict.worst.element, 41);
  }
  Fixture poisoned = gate();
  poisoned.inputs[1].set(7, kNan);
  Trace trace = poisoned.run();
  EXPECT_EQ(poisoned.judge(trace).verdict, VerdictClass::reassociation);
  poisoned.output(trace).set(7, 1);
  EXPECT_EQ(poisoned.judge(trace).symptom, Symptom::missing_nan);
}

// A long chain: one rounding of many is dropped, or one is kept.
TEST(RegionJudge, OneOfManyRoundings) {
  Builder b;
  ValueId value = b.input("a", {Dtype::bf16, {500}}, Normal{});
  const ValueId other = b.input("b", {Dtype::bf16, {500}}, Normal{});
  std::set<std::string> all;
  for (int i = 0; i < 7; ++i) {
    const std::string name = "n" + std::to_string(i);
    value = i % 2 ? b.node(Mul{}, {value, other}, name) : b.node(Add{}, {value, other}, name);
    if (i < 6) all.insert(name);
  }
  const Fixture f = make_fixture(b, value);
  EXPECT_EQ(f.judge(f.run()).verdict, VerdictClass::reassociation);
  EXPECT_EQ(f.judge(f.run(all)).verdict, VerdictClass::precision_policy);
  const RegionVerdict one = f.judge(f.run({"n4"}));
  EXPECT_EQ(one.verdict, VerdictClass::precision_policy);
  EXPECT_EQ(deviations_of(one), std::vector<std::string>{"drop n4"});
  std::set<std::string> most = all;
  most.erase("n3");
  const RegionVerdict but_one = f.judge(f.run(most));
  EXPECT_EQ(but_one.verdict, VerdictClass::precision_policy);
  EXPECT_EQ(but_one.deviations.size(), 5u);
}

Fixture attention(Sdpa op) {
  Builder b;
  const TensorType type{Dtype::bf16,
                        {2, 12, 20}};  // a scale that is no power of 2, which no rounding would notice
  std::vector<ValueId> inputs{b.input("q", type, Normal{}), b.input("k", type, Normal{}),
                              b.input("v", type, Normal{})};
  if (op.mask == Sdpa::Mask::additive) inputs.push_back(b.input("mask", {Dtype::bf16, {12, 12}}, Normal{}));
  return make_fixture(b, b.node(op, inputs, "att"));
}

TEST(RegionJudge, AttentionNamesTheRoundingThatWasDropped) {
  for (Sdpa::Mask mask : {Sdpa::Mask::none, Sdpa::Mask::causal, Sdpa::Mask::additive}) {
    const Fixture f = attention({Sdpa::ScaleOn::scores, false, mask});
    EXPECT_EQ(f.judge(f.run()).verdict, VerdictClass::reassociation) << static_cast<int>(mask);
    std::vector<std::string> inner{"att/scores", "att/scaled", "att/p"};
    if (mask == Sdpa::Mask::additive) inner.insert(inner.begin() + 2, "att/masked");
    for (const std::string& value : inner) {
      for (bool declared : {false, true}) {
        const RegionVerdict verdict = f.judge(f.run({value}), declared ? inner : std::vector<std::string>{});
        EXPECT_EQ(verdict.verdict, VerdictClass::precision_policy) << value;
        EXPECT_EQ(deviations_of(verdict), std::vector<std::string>{"drop " + value});
        EXPECT_EQ(verdict.declared, declared);
      }
    }
    const RegionVerdict all = f.judge(f.run({inner.begin(), inner.end()}), inner);
    EXPECT_EQ(all.verdict, VerdictClass::precision_policy);
    EXPECT_TRUE(all.declared);
  }
}

// What exports compute their intervals from.
TEST(RegionJudge, TheReportedReadingIsThatOfTheVerdict) {
  const Fixture f = gate();
  const auto reported = [&](const Trace& trace, const std::vector<std::string>& declared,
                            bool strict = false) {
    RegionJudgeOptions options;
    options.strict_policy = strict;
    const RegionVerdict verdict = judge_region(f.graph, f.plan(declared), 0, trace, options);
    RegionVerdict of_reading;
    of_reading.deviations =
        reported_reading(f.graph, f.plan(declared).regions[0], trace, verdict, strict).deviations;
    return deviations_of(of_reading);
  };
  EXPECT_TRUE(reported(f.run(), {"s", "m"}).empty());
  EXPECT_EQ(reported(f.run({"s"}), {"s", "m"}), std::vector<std::string>{"drop s"});
  EXPECT_TRUE(reported(f.run({"s"}), {}).empty()) << "not declared, so that it is a finding";
  EXPECT_TRUE(reported(f.run({"s"}), {"s", "m"}, true).empty()) << "the strict policy allows none";
  Trace wrong = f.run({"s"});
  f.output(wrong).set(0, 1000);
  EXPECT_EQ(reported(wrong, {"s"}), std::vector<std::string>{"drop s"}) << "it leaves one element outside";
  const std::vector<RegionOutput> outputs =
      evaluate(f.graph, f.plan({"s"}).regions[0], wrong, {f.plan({"s"}).regions[0].contract.deviations});
  EXPECT_EQ(compare(f.graph, outputs, wrong).outside, 1);
}

TEST(RegionJudge, AttentionPreScaledAndUpcast) {
  const Fixture scaled = attention({Sdpa::ScaleOn::both, false, Sdpa::Mask::none});
  const RegionVerdict verdict = scaled.judge(scaled.run({"att/k_scaled"}));
  EXPECT_EQ(deviations_of(verdict), std::vector<std::string>{"drop att/k_scaled"});
  const Fixture upcast = attention({Sdpa::ScaleOn::scores, true, Sdpa::Mask::causal});
  EXPECT_EQ(upcast.judge(upcast.run()).verdict, VerdictClass::reassociation);
  EXPECT_TRUE(inner_roundings(upcast.graph, upcast.plan().regions[0]).empty());
}

// The wrong scale, and a mask off by one, are not roundings.
TEST(RegionJudge, WrongAttentionIsADefect) {
  const Fixture f = attention({Sdpa::ScaleOn::scores, false, Sdpa::Mask::causal});
  for (Sdpa wrong :
       {Sdpa{Sdpa::ScaleOn::scores, false, Sdpa::Mask::causal, CausalAlignment::top_left, 0.251}, Sdpa{}}) {
    const Fixture other = attention(wrong);
    Trace trace = f.run();
    f.output(trace) = *other.run().values.back();
    const RegionVerdict verdict = f.judge(trace, {"att/scores", "att/scaled", "att/p"});
    EXPECT_EQ(verdict.verdict, VerdictClass::defect);
    EXPECT_EQ(verdict.symptom, Symptom::out_of_bounds);
  }
}

}  // namespace
}  // namespace fusesmith::oracle
