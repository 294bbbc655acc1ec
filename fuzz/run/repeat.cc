#include "fuzz/run/repeat.h"

#include <span>

#include "fuzz/run/difference.h"
#include "fuzz/run/exposing.h"

namespace fusesmith::fuzz {

namespace {

// Whether another run, whose sums were added in another order, is within its bounds; else it is in the
// verdict.
bool is_lawful_again(CaseRun& run, const Graph& graph, BackendRole role, const Trace& first,
                     const Trace& again) {
  const Program& program = role == BackendRole::candidate ? *run.candidate : *run.baseline;
  BackendVerdict& verdict = role == BackendRole::candidate ? run.verdict.candidate : run.verdict.baseline;
  const Execution execution = execution_of(verdict.backend, program.plan(), first);
  const auto failing = oracle::judge_other_run(graph, execution, again, {}, verdict);
  if (failing) run.verdict.fail({role, *failing}, run.find_issue);
  return !run.verdict.finding;
}

// Whether run number `number` of the program of this role gives the same bits, or differs by a known issue or
// as its contract allows; else it is in the verdict.
bool is_same_again(CaseRun& run, const Graph& graph, BackendRole role, int64_t number) {
  const bool of_candidate = role == BackendRole::candidate;
  Program& program = of_candidate ? *run.candidate : *run.baseline;
  const Trace& first = of_candidate ? run.candidate_trace : run.baseline_trace;
  const auto sources = static_cast<size_t>(graph.source_count());
  Trace again = program.run(std::span(first.values).first(sources));
  if (of_candidate) put_stand_ins(graph, run.stand_ins, again);
  const auto found = first_difference(Disagreement::Kind::repeat, program.plan(), first, again);
  if (!found) return is_lawful_again(run, graph, role, first, again);
  add_disagreement(graph, *found, role, run.verdict, run.find_issue);
  if (!run.verdict.finding) return true;  // a known issue
  const RegionVerdict& region = *run.verdict.failing();
  run.verdict.reason = "region '" + region.name + "' (" + region.component() + ") of " +
                       run.verdict.of(role).backend + " differs in run " + std::to_string(number) +
                       " on the same inputs";
  return false;
}

}  // namespace

int64_t repeat_run(const Graph& graph, CaseRun& run, int64_t times, const std::function<bool()>& stop) {
  if (!run.candidate || run.verdict.finding) return 0;
  for (int64_t i = 0; i < times; ++i) {
    if (stop && stop()) return i;
    for (const BackendRole role : {BackendRole::candidate, BackendRole::baseline}) {
      if (!is_same_again(run, graph, role, i + 2)) return i + 1;
    }
  }
  return times;
}

}  // namespace fusesmith::fuzz
