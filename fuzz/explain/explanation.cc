#include "fuzz/explain/explanation.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>

#include "fuzz/base/clock.h"
#include "fuzz/explain/proofs_text.h"
#include "fuzz/run/backends.h"

namespace fusesmith::fuzz {

namespace {

class Explainer {
 public:
  Explainer(const Case& test_case, const CaseRun& run, const Judging& judging, const Budget& budget)
      : case_(with_options(test_case, judging.options)),
        run_(run),
        judging_(judging),
        budget_(budget),
        end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(budget.max_seconds))) {
  }

  Explanation explain() {
    if (run_.verdict.verdict == VerdictClass::nondeterministic) {
      left_out().push_back("all experiments: the same run again gives other bits");
    } else {
      try {
        experiment();
      } catch (const std::bad_alloc&) {
        left_out().push_back("the experiments that come next: memory ran out");
      } catch (const DeviceError& error) {
        if (error.kind() == DeviceError::Kind::unhealthy) throw;
        left_out().push_back(std::string("the experiments that come next: ") + error.what());
      }
    }
    std::vector<std::string> once;  // some are about the backend, and come with each region
    for (std::string& line : left_out()) {
      if (std::find(once.begin(), once.end(), line) == once.end()) once.push_back(std::move(line));
    }
    left_out() = std::move(once);
    explanation_.what_happened =
        what_happened(run_.verdict, explanation_.causes) + proofs_sentence(explanation_.orders);
    explanation_.conclusion = conclude(run_.verdict, explanation_.causes);
    return std::move(explanation_);
  }

 private:
  std::vector<std::string>& left_out() { return explanation_.causes.left_out; }
  double seconds_left() const { return std::chrono::duration<double>(end_ - Clock::now()).count(); }

  void experiment() {
    const CompileOptions options = compile_options(case_, judging_.options);
    const RunSides sides{
        case_.graph,
        {find_backend(judging_.baseline), options, run_.baseline.get(), &run_.baseline_trace},
        {find_backend(judging_.candidate), options, run_.candidate.get(), &run_.candidate_trace}};
    const auto out_of_time = [this] { return seconds_left() <= 0; };
    find_causes(sides, run_.verdict, out_of_time, explanation_.causes);
    std::vector<std::string> patterns = patterns_of(run_.candidate->plan());
    std::erase_if(patterns, [this](const std::string& pattern) { return !run_pattern(pattern); });
    const bool strict = case_.policy.implicit_casts == Policy::ImplicitCasts::strict;
    const JudgeOptions& options_of_judge = judging_.options.judge;
    judge_causes(sides, {options_of_judge.minimal_deviations, strict, options_of_judge.sample, nullptr},
                 out_of_time, explanation_.causes);
    std::stable_sort(patterns.begin(), patterns.end(), [this](const auto& a, const auto& b) {
      return elements_changed(a) > elements_changed(b);
    });
    for (const std::string& pattern : patterns) judge_pattern(pattern);
    prove(sides, out_of_time);
  }

  // Only of differences that another order may explain.
  void prove(const RunSides& sides, const std::function<bool()>& out_of_time) {
    std::vector<size_t> regions;
    for (const Cause& cause : explanation_.causes.causes) {
      const auto kind = cause.kind();
      if (!kind || *kind == CauseKind::order || *kind == CauseKind::inner_value)
        regions.push_back(cause.region);
    }
    explanation_.orders = prove_orders(case_.graph, sides.baseline, sides.candidate, regions, out_of_time);
  }

  PatternOff* known(const std::string& pattern) {
    auto& all = explanation_.patterns_off;
    const auto same =
        std::find_if(all.begin(), all.end(), [&](const PatternOff& off) { return off.pattern == pattern; });
    return same == all.end() ? nullptr : &*same;
  }

  // By turning it off, as far as the counts tell: the most telling are judged first.
  int64_t elements_changed(const std::string& pattern) {
    const PatternOff* off = known(pattern);
    return off ? std::abs(off->unequal - run_.verdict.unequal) : run_.verdict.output_elements;
  }

  // False where no time was left.
  bool run_pattern(const std::string& pattern) {
    if (seconds_left() <= 0) {
      left_out().push_back("pattern " + pattern + " turned off: no time was left");
      return false;
    }
    if (auto off = run_without(pattern, case_, run_, judging_))
      explanation_.patterns_off.push_back(std::move(*off));
    return true;
  }

  void judge_pattern(const std::string& pattern) {
    if (seconds_left() <= std::max(0.0, budget_.judging_seconds)) {
      left_out().push_back("the verdict with pattern " + pattern + " turned off: no time was left");
      return;
    }
    PatternOff judged = judge_without(pattern, case_, run_, judging_);
    if (PatternOff* off = known(pattern))
      *off = std::move(judged);
    else
      explanation_.patterns_off.push_back(std::move(judged));
  }

  const Case case_;
  const CaseRun& run_;
  const Judging& judging_;
  const Budget budget_;
  const Clock::time_point end_;
  Explanation explanation_;
};

}  // namespace

Explanation explain(const Case& test_case, const CaseRun& run, const Judging& judging, const Budget& budget) {
  if (!run.candidate) return {{}, {}, what_happened(run.verdict, {}), conclude(run.verdict, {})};
  return Explainer(test_case, run, judging, budget).explain();
}

}  // namespace fusesmith::fuzz
