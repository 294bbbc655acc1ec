#include "fuzz/explanation.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "fuzz/backends.h"

namespace fusesmith {

namespace {

CompileOptions compile_options(const Case& judged, const RunOptions& options) {
  return {judged.policy.skip_patterns, options.faults, judged.policy.tf32};
}

// Each pattern that formed a region, once, in the plan's order.
std::vector<std::string> patterns_of(const Plan& plan) {
  std::vector<std::string> patterns;
  for (const Region& region : plan.regions) {
    for (const std::string& pattern : region.patterns) {
      if (std::find(patterns.begin(), patterns.end(), pattern) == patterns.end()) patterns.push_back(pattern);
    }
  }
  return patterns;
}

class Explainer {
 public:
  Explainer(const Case& test_case, const CaseRun& run, const Judging& judging, double max_seconds)
      : case_(with_options(test_case, judging.options)),
        run_(run),
        judging_(judging),
        end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(max_seconds))) {}

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
    explanation_.what_happened = what_happened(run_.verdict, explanation_.causes);
    return std::move(explanation_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::vector<std::string>& left_out() { return explanation_.causes.left_out; }
  bool out_of_time() const { return Clock::now() >= end_; }

  void experiment() {
    const CompileOptions options = compile_options(case_, judging_.options);
    const RunSides sides{
        case_.graph,
        {find_backend(judging_.baseline), options, run_.baseline.get(), &run_.baseline_trace},
        {find_backend(judging_.candidate), options, run_.candidate.get(), &run_.candidate_trace}};
    explanation_.causes = find_causes(sides, run_.verdict, [this] { return out_of_time(); });
    for (const std::string& pattern : patterns_of(run_.candidate->plan())) {
      if (out_of_time())
        left_out().push_back("pattern " + pattern + " turned off: no time was left");
      else
        turn_off(pattern);
    }
  }

  void turn_off(const std::string& pattern) {
    Judging without = judging_.quick();
    without.options.skip_patterns.push_back(pattern);
    const Verdict verdict = without.run(case_).verdict;
    explanation_.patterns_off.push_back({pattern, verdict.verdict, verdict.unequal, verdict.max_difference});
  }

  const Case case_;
  const CaseRun& run_;
  const Judging& judging_;
  const Clock::time_point end_;
  Explanation explanation_;
};

}  // namespace

Explanation explain(const Case& test_case, const CaseRun& run, const Judging& judging, double max_seconds) {
  if (!run.candidate) return {{}, {}, what_happened(run.verdict, {})};
  return Explainer(test_case, run, judging, max_seconds).explain();
}

}  // namespace fusesmith
