#include "fuzz/run/run_case.h"

#include <gtest/gtest.h>

#include <map>

#include "fuzz/run/backends.h"

namespace fusesmith::fuzz {
namespace {

// Cannot compile anything.
class Unable : public Backend {
 public:
  std::string_view name() const override { return "unable"; }
  std::string_view doc() const override { return "compiles nothing"; }
  std::optional<std::string> unavailable() const override { return {}; }
  Result<std::unique_ptr<Program>> compile(const Graph&, const CompileOptions&) const override {
    return Problem{"no kernel for anything"};
  }
};

// sum becomes sum + x, and is observed.
Case running_sum(int64_t steps) {
  Builder b;
  const TensorType type{Dtype::f32, {3}};
  const ValueId x = b.input("x", type, Lattice{8, 0}), sum = b.state("sum", type, Constant{0});
  const ValueId next = b.node(Add{}, {sum, x}, "next");
  b.output(next);
  b.next_state(0, next);
  Case test_case;
  test_case.seed = 5;
  test_case.steps = steps;
  test_case.graph = *b.build();
  return test_case;
}

// Runs running_sum; what it gives out at some steps is off (-1: at none), and the state with it.
class Summing : public Backend {
 public:
  using Mistakes = std::map<int64_t, double>;  // by step
  explicit Summing(int64_t wrong_step) : Summing(Mistakes{{wrong_step, 100}}) {}
  explicit Summing(Mistakes mistakes) : mistakes_(std::move(mistakes)) {}
  std::string_view name() const override { return "summing"; }
  std::string_view doc() const override { return "adds its input to its state"; }
  std::optional<std::string> unavailable() const override { return {}; }

  Result<std::unique_ptr<Program>> compile(const Graph& graph, const CompileOptions&) const override {
    return std::unique_ptr<Program>(new Sum(graph, mistakes_));
  }

 private:
  struct Sum : Program {
    Sum(const Graph& graph, Mistakes off)
        : regions{{make_region(graph, {0})}, {}}, mistakes(std::move(off)) {}
    const Plan& plan() const override { return regions; }
    Trace run(std::span<const TensorPtr> sources) override {
      Tensor next(sources[0]->type);
      const auto found = mistakes.find(step++);
      const double mistake = found == mistakes.end() ? 0 : found->second;
      for (int64_t i = 0; i < next.size(); ++i)
        next.set(i, sources[0]->value(i) + sources[1]->value(i) + mistake);
      return {{sources[0], sources[1], std::make_shared<const Tensor>(std::move(next))}};
    }
    std::optional<Disagreement> recheck(std::span<const TensorPtr>, const Trace&) override { return {}; }
    Plan regions;
    const Mistakes mistakes;
    int64_t step = 0;
  };
  const Mistakes mistakes_;
};

TEST(Backends, AreFoundByName) {
  for (const Backend* backend : all_backends()) {
    EXPECT_EQ(find_backend(backend->name()), backend);
    EXPECT_FALSE(backend->doc().empty());
  }
  EXPECT_EQ(find_backend("no_such_backend"), nullptr);
}

TEST(RunCase, ABackendThatCannotIsUnsupportedWithItsReason) {
  for (const bool is_baseline : {false, true}) {
    const Unable unable;
    const Summing able(-1);
    const Backend *baseline = &able, *candidate = &unable;
    if (is_baseline) std::swap(baseline, candidate);
    const Verdict verdict = run_case(running_sum(1), *baseline, *candidate);
    EXPECT_EQ(verdict.verdict, VerdictClass::unsupported);
    EXPECT_EQ(verdict.reason, "unable: no kernel for anything");
    EXPECT_FALSE(verdict.finding);
  }
}

TEST(RunCase, StatesGoOnFromStepToStep) {
  const Case test_case = running_sum(3);
  const CaseRun run = run_case_traced(test_case, Summing(-1), Summing(2));
  EXPECT_EQ(run.verdict.step, 2);
  Tensor sum(test_case.graph.type(1));
  for (int64_t step = 0; step < 3; ++step) {
    const Tensor x = make_inputs(test_case, step)[0];
    for (int64_t i = 0; i < sum.size(); ++i) sum.set(i, sum.value(i) + x.value(i));
  }
  EXPECT_EQ(*run.baseline_trace.values[2], sum);
  EXPECT_NE(*run.baseline_trace.values[0], make_inputs(test_case, 0)[0])
      << "inputs are drawn anew at every step";
}

TEST(RunCase, TheGravestStepIsTheVerdict) {
  EXPECT_EQ(run_case(running_sum(3), Summing(-1), Summing(-1)).verdict, VerdictClass::identical);
  for (int64_t wrong = 0; wrong < 3; ++wrong) {
    const CaseRun run = run_case_traced(running_sum(3), Summing(-1), Summing(wrong));
    EXPECT_EQ(run.verdict.verdict, VerdictClass::defect);
    EXPECT_TRUE(run.verdict.finding);
    EXPECT_EQ(run.verdict.step, wrong);
  }
}

TEST(RunCase, OfEquallyGraveStepsTheFurthestApartIsShownThenTheEarliest) {
  const auto run = [](Summing::Mistakes mistakes) {
    return run_case(running_sum(3), Summing(-1), Summing(std::move(mistakes)));
  };
  const Verdict furthest = run({{0, 100}, {1, 200}});
  EXPECT_EQ(furthest.step, 1);
  EXPECT_EQ(furthest.unequal, 9) << "the state carries the mistake to the last step";
  EXPECT_EQ(furthest.output_elements, 9);
  EXPECT_EQ(furthest.max_difference, 300);
  const Verdict earliest = run({{0, 100}, {1, -200}});
  EXPECT_EQ(earliest.step, 0);
  EXPECT_EQ(earliest.max_difference, 100);
  const Verdict later_difference = run({{1, 100}});
  EXPECT_EQ(later_difference.step, 1) << "a later step that starts from the wrong state is not more severe";
  EXPECT_EQ(later_difference.unequal, 6);
}

TEST(RunCase, StopIsAskedBetweenSteps) {
  int asked = 0;
  RunOptions options;
  options.stop = [&] { return ++asked == 2; };
  const Summing summing(-1);
  EXPECT_THROW(run_case(running_sum(1000), summing, summing, options), Interrupted);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(run_case(running_sum(1), summing, summing, options).verdict, VerdictClass::identical);
  EXPECT_EQ(asked, 2) << "one step is finished";
}

// Huge values make some elements unknown at later steps: neither they nor those steps hide that the chain
// keeps in f32 what the strict policy wants rounded.
TEST(RunCase, NothingHidesAFinding) {
  Builder b;
  const TensorType type{Dtype::bf16, {40, 40}};
  const ValueId x = b.input("x", type, Special{0.002, false}), y = b.input("y", type, Normal{});
  const ValueId a = b.node(Mul{}, {b.node(Silu{}, {x}, "s"), x}, "a");
  b.output(b.node(Mul{}, {b.node(Scale{64.5}, {a}, "b"), y}, "c"));
  Case test_case;
  test_case.graph = *b.build();
  test_case.policy.implicit_casts = Policy::ImplicitCasts::strict;
  for (test_case.steps = 1; test_case.steps <= 4; ++test_case.steps) {
    for (test_case.seed = 1; test_case.seed <= 5; ++test_case.seed) {
      const Verdict verdict = run_case(test_case, *find_backend("cpu"), *find_backend("cpu_fused"));
      EXPECT_TRUE(verdict.finding) << "steps " << test_case.steps << " seed " << test_case.seed;
      EXPECT_EQ(verdict.verdict, VerdictClass::precision_policy);
    }
  }
}

TEST(RunCase, OptionsOverrideThePolicy) {
  Case test_case = running_sum(1);
  test_case.policy.skip_patterns = {"sdpa"};
  RunOptions options;
  options.skip_patterns = {"sdpa", "gemm_bias_act"};
  options.implicit_casts = Policy::ImplicitCasts::strict;
  const Case judged = with_options(test_case, options);
  EXPECT_EQ(judged.policy.skip_patterns, (std::vector<std::string>{"sdpa", "gemm_bias_act"}));
  EXPECT_EQ(judged.policy.implicit_casts, Policy::ImplicitCasts::strict);
  EXPECT_EQ(with_options(test_case, {}), test_case);
}

}  // namespace
}  // namespace fusesmith::fuzz
