#include "fuzz/run/repeat.h"

#include <span>

#include "fuzz/run/difference.h"

namespace fusesmith::fuzz {

namespace {

// Whether run number `number` of the program gives the same bits; else it is in the verdict.
bool is_same_again(CaseRun& run, const Graph& graph, Program& program, const Trace& first,
                   const BackendVerdict& backend, int64_t number) {
  const auto sources = static_cast<size_t>(graph.source_count());
  Trace again = program.run(std::span(first.values).first(sources));
  if (&program == run.candidate.get()) put_stand_ins(graph, run.stand_ins, again);
  const auto found = first_difference(Disagreement::Kind::repeat, program.plan(), first, again);
  if (!found) return true;
  const RegionVerdict& verdict = backend.regions.at(found->region);
  const std::string culprit = verdict.patterns.empty() ? verdict.op : verdict.patterns.front();
  run.verdict.verdict = VerdictClass::nondeterministic;
  run.verdict.finding = true;
  run.verdict.reason = "region '" + verdict.name + "' (" + culprit + ") of " + backend.backend +
                       " differs in run " + std::to_string(number) + " on the same inputs";
  run.verdict.signature = make_signature(VerdictClass::nondeterministic, backend.backend, culprit,
                                         std::string(name(verdict.dtype)), std::string(name(found->kind)));
  return false;
}

}  // namespace

int64_t repeat_run(const Graph& graph, CaseRun& run, int64_t times, const std::function<bool()>& stop) {
  if (!run.candidate || run.verdict.finding) return 0;
  for (int64_t i = 0; i < times; ++i) {
    if (stop && stop()) return i;
    if (!is_same_again(run, graph, *run.candidate, run.candidate_trace, run.verdict.candidate, i + 2) ||
        !is_same_again(run, graph, *run.baseline, run.baseline_trace, run.verdict.baseline, i + 2)) {
      return i + 1;
    }
  }
  return times;
}

}  // namespace fusesmith::fuzz
