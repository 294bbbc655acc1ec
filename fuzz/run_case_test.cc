#include "fuzz/run_case.h"

#include <gtest/gtest.h>

#include "fuzz/backends.h"

namespace fusesmith {
namespace {

// Cannot compile anything.
class Unable : public Backend {
 public:
  std::string_view name() const override { return "unable"; }
  std::string_view doc() const override { return "compiles nothing"; }
  Result<std::unique_ptr<Program>> compile(const Graph&, const CompileOptions&) const override {
    return Problem{"no kernel for anything"};
  }
};

// `cpu`, with every output off by far at one step.
class WrongAtStep : public Backend {
 public:
  explicit WrongAtStep(int64_t step) : step_(step) {}
  std::string_view name() const override { return "wrong"; }
  std::string_view doc() const override { return "cpu with a mistake"; }

  Result<std::unique_ptr<Program>> compile(const Graph& graph, const CompileOptions& options) const override {
    auto inner = find_backend("cpu")->compile(graph, options);
    if (!inner) return inner;
    return std::unique_ptr<Program>(new Wrong(std::move(*inner), graph.outputs()[0], step_));
  }

 private:
  struct Wrong : Program {
    Wrong(std::unique_ptr<Program> p, ValueId v, int64_t s) : inner(std::move(p)), output(v), step(s) {}
    const Plan& plan() const override { return inner->plan(); }
    Trace run(std::span<const TensorPtr> inputs) override {
      Trace trace = inner->run(inputs);
      if (runs++ != step) return trace;
      TensorPtr& value = trace.values[static_cast<size_t>(output)];
      Tensor wrong = *value;
      wrong.set(0, wrong.value(0) + 100);
      value = std::make_shared<const Tensor>(std::move(wrong));
      return trace;
    }
    std::unique_ptr<Program> inner;
    ValueId output;
    int64_t step, runs = 0;
  };
  int64_t step_;
};

// sum becomes sum + x; doubled is observed.
Case running_sum(int64_t steps) {
  Builder b;
  const TensorType type{Dtype::f32, {3}};
  const ValueId x = b.input("x", type, Lattice{8, 0}), sum = b.state("sum", type, Constant{0});
  const ValueId next = b.node(Add{}, {sum, x}, "next");
  b.output(b.node(Scale{2}, {next}, "doubled"));
  b.next_state(0, next);
  Case test_case;
  test_case.seed = 5;
  test_case.steps = steps;
  test_case.graph = *b.build();
  return test_case;
}

const Backend& cpu() { return *find_backend("cpu"); }

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
    const Verdict verdict =
        is_baseline ? run_case(running_sum(1), unable, cpu()) : run_case(running_sum(1), cpu(), unable);
    EXPECT_EQ(verdict.verdict, VerdictClass::unsupported);
    EXPECT_EQ(verdict.reason, "unable: no kernel for anything");
    EXPECT_FALSE(verdict.finding);
  }
}

TEST(RunCase, StatesGoOnFromStepToStep) {
  const Case test_case = running_sum(3);
  const CaseRun run = run_case_traced(test_case, cpu(), WrongAtStep(2));
  EXPECT_EQ(run.step, 2);
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
  EXPECT_EQ(run_case(running_sum(3), cpu(), cpu()).verdict, VerdictClass::identical);
  for (int64_t wrong = 0; wrong < 3; ++wrong) {
    const CaseRun run = run_case_traced(running_sum(3), cpu(), WrongAtStep(wrong));
    EXPECT_EQ(run.verdict.verdict, VerdictClass::defect);
    EXPECT_TRUE(run.verdict.finding);
    EXPECT_EQ(run.step, wrong);
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
}  // namespace fusesmith
