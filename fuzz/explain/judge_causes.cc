// The second half of find_causes: causes against the reference, and what swaps inside kernels then prove.
#include <algorithm>

#include "fuzz/base/table.h"
#include "fuzz/explain/causes.h"
#include "fuzz/report/verdict_text.h"

namespace fusesmith::fuzz {

namespace {

class CauseJudge {
 public:
  CauseJudge(const RunSides& run, const RegionJudgeOptions& options, const std::function<bool()>& out_of_time,
             Causes& causes)
      : run_(run), options_(options), out_of_time_(out_of_time), causes_(causes) {}

  void judge(Cause& cause) {
    if (differs_by_run(cause.verdict)) return;
    if (!cause.judged) {
      const auto verdict = verdict_of(cause, cause.left, "region '" + cause.verdict.name + "'");
      if (!verdict) return;
      cause.verdict = *verdict;
      cause.judged = true;
    }
    if (cause.kind() != CauseKind::out_of_bounds) return;
    size_t length = 0;  // of the swaps that Cause::inner_cause reads: of the first value, the first two, ...
    for (Swap& swap : cause.swaps) {
      if (!swap.inside_kernel || swap.given.size() != length + 1) continue;
      ++length;
      judge_swap(cause, swap);
    }
    const Swap* alone = cause.carried_alone();
    for (Swap& swap : cause.swaps) {
      if (&swap == alone) judge_swap(cause, swap);
    }
  }

 private:
  void judge_swap(const Cause& cause, Swap& swap) {
    const std::string what = "region '" + cause.verdict.name + "' with the " + list_text(swap.given);
    swap.verdict = verdict_of(cause, swap.left, what);
    if (!swap.converse.empty()) swap.converse_verdict = verdict_of(cause, swap.converse, what);
  }

  std::optional<RegionVerdict> verdict_of(const Cause& cause, const std::vector<TensorPtr>& left,
                                          const std::string& what) {
    if (out_of_time_()) {
      causes_.left_out.push_back("the judgement of " + what + " on the values of " +
                                 std::string(run_.baseline.backend->name()) + ": no time was left");
      return {};
    }
    const Plan& plan = run_.candidate.plan();
    Trace trace{run_.baseline.trace->values};
    const std::vector<ValueId>& outputs = plan.regions[cause.region].outputs;
    for (size_t i = 0; i < outputs.size(); ++i) trace.values[static_cast<size_t>(outputs[i])] = left[i];
    return judge_region(run_.graph, plan, cause.region, trace, options_);
  }

  const RunSides& run_;
  const RegionJudgeOptions& options_;
  const std::function<bool()>& out_of_time_;
  Causes& causes_;
};

}  // namespace

void judge_causes(const RunSides& run, const RegionJudgeOptions& options,
                  const std::function<bool()>& out_of_time, Causes& causes) {
  CauseJudge judge(run, options, out_of_time, causes);
  for (Cause& cause : causes.causes) judge.judge(cause);
}

}  // namespace fusesmith::fuzz
