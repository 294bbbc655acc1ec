// The judge on whole runs of hand-made plans and traces: classes, findings under each policy, signatures,
// inheritance.
#include "oracle/judge.h"

#include <gtest/gtest.h>

#include "oracle/test_executor.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

Plan unfused(const Graph& graph) {
  Plan plan;
  for (int n = 0; n < static_cast<int>(graph.nodes().size()); ++n)
    plan.regions.push_back(make_region(graph, {n}));
  return plan;
}

// x -> s = sigmoid(x) -> m = s * g -> y = m + x, in bf16.
class Judge : public ::testing::Test {
 protected:
  Judge() {
    Builder b;
    const TensorType type{Dtype::bf16, {400}};
    const ValueId x = b.input("x", type, Normal{}), g = b.input("g", type, Normal{});
    const ValueId m = b.node(Mul{}, {b.node(Sigmoid{}, {x}, "s"), g}, "m");
    b.output(b.node(Add{}, {m, x}, "y"));
    test_case_.graph = *b.build();
    Rng rng(1);
    for (int i = 0; i < 2; ++i) inputs_.push_back(make_tensor(type, [&](int64_t) { return rng.normal(); }));
    baseline_plan_ = unfused(graph());
    baseline_ = Executor().run(graph(), inputs_);
    candidate_plan_.regions = {make_region(graph(), {0, 1}), make_region(graph(), {2})};
    candidate_plan_.regions[0].patterns = {"gate", "pointwise_chain"};
    declare("s");
  }

  const Graph& graph() const { return test_case_.graph; }
  void declare(const std::string& value) {
    candidate_plan_.regions[0].contract.deviations = {
        {Deviation::Kind::drop, value, Dtype::bf16, 0, "kept in f32"}};
  }
  // The candidate's trace: s never reaches memory.
  Trace candidate(std::set<std::string> dropped) const {
    Trace trace = Executor(std::move(dropped)).run(graph(), inputs_);
    trace.values[static_cast<size_t>(*graph().find("s"))] = nullptr;
    return trace;
  }
  static void tamper(Trace& trace, ValueId value, int64_t element, double x) {
    auto copy = std::make_shared<Tensor>(*trace.values[static_cast<size_t>(value)]);
    copy->set(element, x);
    trace.values[static_cast<size_t>(value)] = copy;
  }
  ValueId value(const std::string& name) const { return *graph().find(name); }
  Verdict run(const Trace& candidate, const Trace& baseline) const {
    return judge(test_case_, {"cpu", &baseline_plan_, &baseline},
                 {"cpu_fused", &candidate_plan_, &candidate});
  }
  Verdict run(const Trace& candidate) const { return run(candidate, baseline_); }

  Case test_case_;
  std::vector<Tensor> inputs_;
  Plan baseline_plan_, candidate_plan_;
  Trace baseline_;
};

TEST_F(Judge, TheSameBitsAreIdentical) {
  const Verdict verdict = run(candidate({}));
  EXPECT_EQ(verdict.verdict, VerdictClass::identical);
  EXPECT_FALSE(verdict.finding);
  EXPECT_EQ(verdict.signature, std::nullopt);
  EXPECT_EQ(verdict.failing(), nullptr);
  EXPECT_EQ(verdict.unequal, 0);
  EXPECT_EQ(verdict.output_elements, 400);
  ASSERT_EQ(verdict.baseline.regions.size(), 3u);
  ASSERT_EQ(verdict.candidate.regions.size(), 2u);
  for (const BackendVerdict* backend : {&verdict.baseline, &verdict.candidate}) {
    EXPECT_EQ(backend->verdict, VerdictClass::identical);
    for (const RegionVerdict& region : backend->regions)
      EXPECT_EQ(region.verdict, VerdictClass::identical) << backend->backend << " " << region.name;
  }
}

// The difference arises in the product, and its gate has it too.
TEST_F(Judge, RegionsWithTheSameBitsAreIdentical) {
  Builder b;
  const TensorType type{Dtype::f32, {64, 64}};
  const ValueId x = b.input("a", type, Normal{}), y = b.input("b", type, Normal{});
  b.output(b.node(Sigmoid{}, {b.node(Matmul{}, {x, y}, "product")}, "gate"));
  b.output(b.node(Sigmoid{}, {x}, "other"));
  test_case_.graph = *b.build();
  Rng rng(2);
  std::vector<Tensor> inputs;
  for (int i = 0; i < 2; ++i) inputs.push_back(make_tensor(type, [&](int64_t) { return rng.normal(); }));
  const Plan plan = unfused(graph());
  const Trace one = Executor().run(graph(), inputs);
  Trace other = one;
  for (const ValueId v : {value("product"), value("gate")})
    tamper(other, v, 7, one.values[static_cast<size_t>(v)]->value(7) * (1 + 0x1p-23));
  const Verdict verdict = judge(test_case_, {"cpu", &plan, &one}, {"cpu_fused", &plan, &other});
  EXPECT_EQ(verdict.verdict, VerdictClass::reassociation);
  for (const BackendVerdict* backend : {&verdict.baseline, &verdict.candidate}) {
    EXPECT_EQ(backend->verdict, VerdictClass::reassociation);
    EXPECT_EQ(backend->regions[0].verdict, VerdictClass::reassociation);
    EXPECT_EQ(backend->regions[1].verdict, VerdictClass::reassociation);
    EXPECT_EQ(backend->regions[2].verdict, VerdictClass::identical);
  }
}

// Zeros of either sign are correct there, so every element is exact, and still the bits differ.
TEST_F(Judge, ARegionThatLosesTheSignOfZeroIsNotIdentical) {
  const TensorType type{Dtype::f16, {2}};
  Builder b;
  b.output(b.node(Scale{1}, {b.input("x", type, Normal{})}, "y"));
  test_case_.graph = *b.build();
  const Plan plan = unfused(graph());
  const auto trace = [&](double zero) {
    Trace t;
    for (const double x : {-0.0, zero})
      t.values.push_back(std::make_shared<const Tensor>(make_tensor(type, {2, x})));
    return t;
  };
  const Trace kept = trace(-0.0), lost = trace(0.0);
  const Verdict verdict = judge(test_case_, {"cpu", &plan, &kept}, {"cpu_fused", &plan, &lost});
  EXPECT_EQ(verdict.verdict, VerdictClass::reassociation);
  EXPECT_EQ(verdict.unequal, 1);
  EXPECT_EQ(verdict.candidate.regions[0].exact, 2);
  EXPECT_EQ(verdict.candidate.regions[0].verdict, VerdictClass::reassociation);
}

// NaN against infinity on one element, infinity against a number on another: neither is "at most 0" apart.
TEST_F(Judge, DifferencesInNaNAndInfinityAreCountedApart) {
  Trace wrong = candidate({}), other = baseline_;
  tamper(wrong, value("y"), 3, kNan);
  tamper(other, value("y"), 3, kInf);
  tamper(wrong, value("y"), 5, kInf);
  const Verdict special = run(wrong, other);
  EXPECT_EQ(special.unequal, 2);
  EXPECT_EQ(special.unequal_nonfinite, 2);
  EXPECT_EQ(special.max_difference, kInf);
  EXPECT_EQ(special.max_finite_difference, 0);
  tamper(wrong, value("y"), 8, 9);
  const Verdict mixed = run(wrong, other);
  EXPECT_EQ(mixed.unequal, 3);
  EXPECT_EQ(mixed.unequal_nonfinite, 2);
  EXPECT_EQ(mixed.max_finite_difference, std::fabs(9 - baseline_.values.back()->value(8)));
}

TEST_F(Judge, SameBitsAreInherited) {
  const Verdict same = run(candidate({}));
  EXPECT_TRUE(same.candidate.regions[0].inherited);
  EXPECT_EQ(same.candidate.regions[0].region, 0u);
  EXPECT_EQ(same.candidate.regions[0].name, "m");
  EXPECT_EQ(same.candidate.regions[0].patterns.size(), 2u);
  const Verdict other = run(candidate({"s"}));
  EXPECT_FALSE(other.candidate.regions[0].inherited);
  EXPECT_FALSE(other.candidate.regions[1].inherited);
}

// Wrong bits that the baseline has as well prove nothing.
TEST_F(Judge, NothingIsInheritedFromAFailingBaseline) {
  Trace wrong = baseline_, same = candidate({});
  tamper(wrong, value("m"), 3, 100);
  same.values[static_cast<size_t>(value("m"))] = wrong.values[static_cast<size_t>(value("m"))];
  const Verdict verdict = run(same, wrong);
  EXPECT_FALSE(verdict.candidate.regions[0].inherited);
  EXPECT_EQ(verdict.candidate.regions[0].verdict, VerdictClass::defect);
  EXPECT_EQ(verdict.signature_text(), "defect-cpu_fused-gate-bf16-out_of_bounds");
}

TEST_F(Judge, DeclaredRoundingsAreFindingsOnlyUnderTheStrictPolicy) {
  const Trace trace = candidate({"s"});
  const Verdict lenient = run(trace);
  EXPECT_EQ(lenient.verdict, VerdictClass::precision_policy);
  EXPECT_FALSE(lenient.finding);
  EXPECT_EQ(lenient.signature_text(), "");
  EXPECT_GT(lenient.unequal, 40);
  EXPECT_GT(lenient.max_difference, 0);
  test_case_.policy.implicit_casts = Policy::ImplicitCasts::strict;
  const Verdict strict = run(trace);
  EXPECT_TRUE(strict.finding);
  EXPECT_EQ(strict.verdict, VerdictClass::precision_policy);
  EXPECT_EQ(strict.signature_text(), "precision_policy-cpu_fused-gate-bf16-declared_rounding");
}

// Against the reading that accepts a region, no element would be outside.
TEST_F(Judge, TheEvidenceOfARoundingIsTheIntervalThatWasViolated) {
  const Trace trace = candidate({"s"});
  const RegionVerdict lenient = run(trace).candidate.regions[0];
  EXPECT_EQ(lenient.outside, 0);
  EXPECT_EQ(lenient.symptom, Symptom::none);
  const auto expect_violation = [&](Symptom symptom) {
    const RegionVerdict region = run(trace).candidate.regions[0];
    EXPECT_EQ(region.symptom, symptom);
    EXPECT_EQ(region.deviations.size(), 1U);
    EXPECT_GT(region.outside, 40);
    EXPECT_LE(region.outside, region.elements);
    EXPECT_GT(region.worst_share, 1);
    EXPECT_EQ(region.worst.value, "m");
    EXPECT_TRUE(region.worst.got < region.worst.lo || region.worst.got > region.worst.hi);
  };
  test_case_.policy.implicit_casts = Policy::ImplicitCasts::strict;
  expect_violation(Symptom::declared_rounding);
  candidate_plan_.regions[0].contract.deviations.clear();
  expect_violation(Symptom::undeclared_rounding);
  test_case_.policy.implicit_casts = Policy::ImplicitCasts::may_elide;
  expect_violation(Symptom::undeclared_rounding);
}

TEST_F(Judge, UndeclaredRoundingsAreFindings) {
  candidate_plan_.regions[0].contract.deviations.clear();
  const Verdict verdict = run(candidate({"s"}));
  EXPECT_TRUE(verdict.finding);
  EXPECT_EQ(verdict.verdict, VerdictClass::precision_policy);
  EXPECT_EQ(verdict.signature_text(), "precision_policy-cpu_fused-gate-bf16-undeclared_rounding");
}

TEST_F(Judge, ADefectNamesItsRegion) {
  Trace trace = candidate({"s"});
  tamper(trace, value("y"), 17, 9);
  const Verdict verdict = run(trace);
  EXPECT_EQ(verdict.verdict, VerdictClass::defect);
  EXPECT_EQ(verdict.candidate.regions[0].verdict, VerdictClass::precision_policy);
  EXPECT_EQ(verdict.candidate.regions[1].verdict, VerdictClass::defect);
  EXPECT_EQ(verdict.signature_text(), "defect-cpu_fused-add-bf16-out_of_bounds");
  EXPECT_EQ(verdict.failing_region, (FailingRegion{BackendRole::candidate, 1}));
  EXPECT_EQ(verdict.failing(), &verdict.candidate.regions[1]);
  EXPECT_EQ(verdict.candidate.regions[1].worst.element, 17);
  EXPECT_EQ(verdict.candidate.regions[1].worst.value, "y");
}

// The region downstream of a wrong one got wrong inputs, and computed rightly from them.
TEST_F(Judge, RegionsAreJudgedOnWhatTheyGot) {
  Trace trace = candidate({});
  const int64_t element = 5;
  const double wrong = 2 * trace.values[static_cast<size_t>(value("m"))]->value(element) + 1;
  tamper(trace, value("m"), element, wrong);
  const double m = trace.values[static_cast<size_t>(value("m"))]->value(element);
  tamper(trace, value("y"), element, m + inputs_[0].value(element));
  const Verdict verdict = run(trace);
  EXPECT_EQ(verdict.candidate.regions[0].verdict, VerdictClass::defect);
  EXPECT_EQ(verdict.candidate.regions[1].verdict, VerdictClass::reassociation);
  EXPECT_EQ(verdict.unequal, 1);
}

TEST_F(Judge, NaNIsExceptional) {
  Trace trace = candidate({});
  tamper(trace, value("m"), 11, kNan);
  const Verdict verdict = run(trace);
  EXPECT_EQ(verdict.verdict, VerdictClass::exceptional);
  EXPECT_EQ(verdict.signature_text(), "exceptional-cpu_fused-gate-bf16-nan");
}

TEST_F(Judge, AFailingBaselineIsNamedIfTheCandidatePasses) {
  Trace wrong = baseline_;
  tamper(wrong, value("y"), 0, 50);
  const Verdict verdict = run(candidate({}), wrong);
  EXPECT_EQ(verdict.verdict, VerdictClass::defect);
  EXPECT_EQ(verdict.signature_text(), "defect-cpu-add-bf16-out_of_bounds");
  EXPECT_EQ(verdict.failing(), &verdict.baseline.regions[2]);
  EXPECT_EQ(verdict.unequal, 1);
}

TEST_F(Judge, LawfulDifferencesAreReassociation) {
  Builder b;
  const TensorType type{Dtype::f32, {64, 64}};
  b.output(b.node(Matmul{}, {b.input("a", type, Normal{}), b.input("b", type, Normal{})}, "y"));
  test_case_.graph = *b.build();
  Rng rng(2);
  std::vector<Tensor> x;
  for (int i = 0; i < 2; ++i) x.push_back(make_tensor(type, [&](int64_t) { return rng.normal(); }));
  const Plan plan = unfused(graph());
  const Trace one = Executor().run(graph(), x);
  Trace other = one;
  for (int64_t i = 0; i < 50; ++i) tamper(other, 2, i, one.values[2]->value(i) * (1 + 0x1p-23));
  const Verdict verdict = judge(test_case_, {"cpu", &plan, &one}, {"cpu_fused", &plan, &other});
  EXPECT_EQ(verdict.verdict, VerdictClass::reassociation);
  EXPECT_FALSE(verdict.finding);
  EXPECT_GT(verdict.unequal, 40);
  EXPECT_LE(verdict.candidate.regions[0].worst_share, 1);
}

TEST_F(Judge, BoundsThatSayNothingAreInconclusive) {
  Builder b;
  const TensorType type{Dtype::f32, {1, 4096}};
  b.output(b.node(LayerNorm{}, {b.input("x", type, Normal{})}, "y"));
  test_case_.graph = *b.build();
  const Plan plan = unfused(graph());
  Trace trace;  // a constant row far from 0: its rounding may be all that its variance is
  trace.values = {std::make_shared<Tensor>(make_tensor(type, [](int64_t) { return 1000.1; })),
                  std::make_shared<Tensor>(type)};
  const Verdict verdict = judge(test_case_, {"cpu", &plan, &trace}, {"cpu_fused", &plan, &trace});
  EXPECT_EQ(verdict.verdict, VerdictClass::inconclusive);
  EXPECT_FALSE(verdict.finding);
}

// A copy keeps every bit; what is computed may lose the sign of a zero.
TEST_F(Judge, CopiesKeepTheSignOfZero) {
  const TensorType type{Dtype::f16, {2, 3}};
  const auto verdict = [&](const Op& op, double zero) {
    Builder b;
    b.output(b.node(op, {b.input("x", type, Normal{})}, "y"));
    test_case_.graph = *b.build();
    const Plan plan = unfused(graph());
    Trace trace;
    for (const double x : {-0.0, zero})
      trace.values.push_back(std::make_shared<const Tensor>(make_tensor(type, {2, x, 4, 6, 0.0, 8})));
    return judge_backend(graph(), {"cpu", &plan, &trace}).verdict;
  };
  const Op copy = Dropout{}, computed = Scale{1};
  EXPECT_EQ(verdict(copy, -0.0), VerdictClass::reassociation);
  EXPECT_EQ(verdict(copy, 0.0), VerdictClass::defect);
  EXPECT_EQ(verdict(computed, 0.0), VerdictClass::reassociation);
}

// Zeros through every activation: nothing but the underflow floor is left of the bound.
TEST_F(Judge, ZerosAreNotInconclusive) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {8}}, Constant{});
  b.output(b.node(LayerNorm{}, {b.node(Silu{}, {x}, "s")}, "y"));
  test_case_.graph = *b.build();
  const Plan plan = unfused(graph());
  Trace trace;
  trace.values.assign(3, std::make_shared<Tensor>(TensorType{Dtype::f32, {8}}));
  EXPECT_EQ(judge(test_case_, {"cpu", &plan, &trace}, {"cpu_fused", &plan, &trace}).verdict,
            VerdictClass::identical);
}

// What a second look shows is a failure whatever the bounds say, and names the region.
TEST_F(Judge, ADisagreementFailsItsRegion) {
  using Kind = Disagreement::Kind;
  const Trace trace = candidate({});
  const ValueId y = graph().outputs()[0];
  for (const auto& [kind, symptom] : {std::pair(Kind::guard, Symptom::guard_overwritten),
                                      std::pair(Kind::poison, Symptom::depends_on_unwritten_memory),
                                      std::pair(Kind::repeat, Symptom::repeat_differs),
                                      std::pair(Kind::production, Symptom::production_differs),
                                      std::pair(Kind::source, Symptom::source_overwritten),
                                      std::pair(Kind::scaling, Symptom::scaling_differs),
                                      std::pair(Kind::exchange, Symptom::exchange_differs),
                                      std::pair(Kind::isolation, Symptom::depends_on_neighbours),
                                      std::pair(Kind::subset, Symptom::depends_on_batch)}) {
    Execution looked_at{"cpu_fused", &candidate_plan_, &trace};
    looked_at.disagreement = Disagreement{kind, 0, y, 7, 1, 2};
    const Verdict verdict = judge(test_case_, {"cpu", &baseline_plan_, &baseline_}, looked_at);
    EXPECT_TRUE(verdict.finding);
    EXPECT_EQ(verdict.verdict, kind == Kind::repeat ? VerdictClass::nondeterministic : VerdictClass::defect);
    EXPECT_EQ(verdict.signature, (Signature{verdict.verdict, "cpu_fused", "gate", Dtype::bf16, symptom}));
    EXPECT_EQ(verdict.failing_region, (FailingRegion{BackendRole::candidate, 0}));
    EXPECT_TRUE(is_disagreement(*verdict.failing()));
    if (kind != Kind::guard) {
      EXPECT_EQ(verdict.candidate.regions[0].worst.element, 7);
    }
  }
}

// softmax of rows of 200 whose exponentials a library stores in the dtype before it divides.
Tensor softmax_of_rounded_exponentials(const Tensor& x, Dtype dtype) {
  Tensor y(x.type);
  const int64_t n = x.type.shape.back();
  for (int64_t row = 0; row < x.size(); row += n) {
    double max = x.value(row), sum = 0;
    for (int64_t i = 0; i < n; ++i) max = std::max(max, x.value(row + i));
    for (int64_t i = 0; i < n; ++i) sum += round_to(dtype, std::exp(x.value(row + i) - max));
    for (int64_t i = 0; i < n; ++i) y.set(row + i, round_to(dtype, std::exp(x.value(row + i) - max)) / sum);
  }
  return y;
}

TEST_F(Judge, ExponentialsRoundedInAdditionAreNamedWhereDeclared) {
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    Builder b;
    const TensorType type{dtype, {16, 200}};
    b.output(b.node(Softmax{}, {b.input("x", type, Normal{})}, "y"));
    test_case_.graph = *b.build();
    Rng rng(3);
    const Tensor x = make_tensor(type, [&](int64_t) { return 2 * rng.normal(); });
    Trace trace;
    trace.values = {std::make_shared<Tensor>(x),
                    std::make_shared<Tensor>(softmax_of_rounded_exponentials(x, dtype))};
    Plan plan = unfused(graph());
    const auto verdict = [&] { return judge_backend(graph(), {"cuda", &plan, &trace}); };
    EXPECT_EQ(verdict().verdict, VerdictClass::defect) << "no contract says so";
    const double u = unit_roundoff(dtype);
    plan.regions[0].contract.deviations = {
        {Deviation::Kind::add, "y/exponentials", dtype, 2 * u / (1 - u) + 200 * 0x1p-25, "stored"}};
    const BackendVerdict declared = verdict();
    EXPECT_EQ(declared.verdict, VerdictClass::precision_policy);
    ASSERT_EQ(declared.regions[0].deviations.size(), 1u);
    EXPECT_EQ(to_string(declared.regions[0].deviations[0]), "add y/exponentials");
    tamper(trace, 1, 5, trace.values[1]->value(5) * (1 + 8 * u));
    EXPECT_EQ(verdict().verdict, VerdictClass::defect) << "a larger error is no rounding";
  }
}

// The gate and the sum both fail; each may be a known issue.
TEST_F(Judge, AKnownFailureDoesNotHideAnother) {
  Trace trace = candidate({});
  tamper(trace, value("m"), 3, 100);
  tamper(trace, value("y"), 5, -100);
  const std::string gate = "defect-cpu_fused-gate-bf16-out_of_bounds",
                    sum = "defect-cpu_fused-add-bf16-out_of_bounds";
  const auto judged = [&](const std::set<std::string>& known) {
    JudgeOptions options;
    options.find_issue = [known](const Signature& failure) {
      return known.contains(to_string(failure)) ? "issue of " + failure.component : "";
    };
    return judge(test_case_, {"cpu", &baseline_plan_, &baseline_}, {"cpu_fused", &candidate_plan_, &trace},
                 options);
  };
  EXPECT_EQ(judged({}).signature_text(), gate);
  EXPECT_TRUE(judged({}).known.empty());

  const Verdict other = judged({gate});
  EXPECT_TRUE(other.finding);
  EXPECT_EQ(other.signature_text(), sum);
  EXPECT_EQ(other.failing_region, (FailingRegion{BackendRole::candidate, 1}));
  ASSERT_EQ(other.known.size(), 1u);
  EXPECT_EQ(other.known[0].issue, "issue of gate");
  EXPECT_EQ(to_string(other.known[0].signature), gate);

  const Verdict after = judged({sum});
  EXPECT_TRUE(after.finding);
  EXPECT_EQ(after.signature_text(), gate);
  EXPECT_EQ(after.known.size(), 1u) << "is told beside the finding, too";

  const Verdict both = judged({gate, sum});
  EXPECT_FALSE(both.finding);
  EXPECT_EQ(both.verdict, VerdictClass::defect);
  EXPECT_EQ(both.signature_text(), gate) << "the first one is shown";
  EXPECT_EQ(both.known.size(), 2u);
}

TEST_F(Judge, AKnownDisagreementDoesNotHideAnError) {
  const Trace exact = candidate({});
  Trace wrong = exact;
  tamper(wrong, value("m"), 3, 100);
  const Disagreement differs{Disagreement::Kind::repeat, 0, value("m"), 7, 1, 2};
  const auto judged = [&](const Trace& trace, bool known) {
    JudgeOptions options;
    options.find_issue = [known](const Signature& failure) {
      return known && failure.symptom == Symptom::repeat_differs ? "differs" : "";
    };
    return judge(test_case_, {"cpu", &baseline_plan_, &baseline_},
                 {"cpu_fused", &candidate_plan_, &trace, differs}, options);
  };
  EXPECT_EQ(judged(wrong, false).verdict, VerdictClass::nondeterministic);
  const Verdict verdict = judged(wrong, true);
  EXPECT_TRUE(verdict.finding);
  EXPECT_EQ(verdict.signature_text(), "defect-cpu_fused-gate-bf16-out_of_bounds");
  EXPECT_EQ(verdict.known.size(), 1u);
  const Verdict lawful = judged(exact, true);
  EXPECT_FALSE(lawful.finding);
  EXPECT_EQ(lawful.verdict, VerdictClass::nondeterministic);
  EXPECT_EQ(lawful.known.size(), 1u);

  Verdict later = run(exact);
  const FindIssue find_issue = [](const Signature&) { return "differs"; };
  add_disagreement(graph(), differs, BackendRole::candidate, later, find_issue);
  EXPECT_FALSE(later.finding);
  EXPECT_EQ(later.known.size(), 1u);
  add_disagreement(graph(), differs, BackendRole::candidate, later);
  EXPECT_TRUE(later.finding);
}

}  // namespace
}  // namespace fusesmith::oracle
