// What replay holds a judged case to: its expectation, and equal bits when it is run again.
#include <algorithm>
#include <span>

#include "fuzz/difference.h"
#include "fuzz/replay.h"
#include "fuzz/table.h"

namespace fusesmith {

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

bool is_about(const Case& test_case, const Verdict& verdict) {
  if (!test_case.expect) return false;
  const std::vector<std::string>& backends = test_case.expect->backends;
  return backends.empty() ||
         backends == std::vector<std::string>{verdict.baseline.backend, verdict.candidate.backend};
}

namespace {

// Which kernel a GPU's library takes, and so whether two orders leave the same bits, depends on card and
// driver.
bool has_verdict(const std::string& wanted, const Verdict& verdict) {
  if (wanted.empty() || wanted == name(verdict.verdict)) return true;
  const bool on_gpu = verdict.baseline.backend.starts_with("cuda");
  return on_gpu && verdict.verdict == VerdictClass::identical && wanted == name(VerdictClass::reassociation);
}

}  // namespace

std::optional<std::string> broken_expectation(const Case& test_case, const Verdict& verdict) {
  if (!is_about(test_case, verdict)) return {};
  const Expect& expect = *test_case.expect;
  const auto broken = [](const char* what, const std::string& wanted, const std::string& got) {
    return std::string("expected ") + what + " " + wanted + ", got " + got;
  };
  const std::string got(name(verdict.verdict));
  if (!has_verdict(expect.verdict, verdict)) return broken("verdict", expect.verdict, got);
  if (verdict.verdict == VerdictClass::precision_policy && !expect.deviations.empty()) {
    std::vector<std::string> wanted = expect.deviations;
    std::sort(wanted.begin(), wanted.end());  // as the set is
    const std::vector<std::string> used(verdict.deviations.begin(), verdict.deviations.end());
    if (wanted != used)
      return broken("deviations", "[" + list_text(wanted) + "]", "[" + list_text(used) + "]");
  }
  if (!expect.signature.empty() && expect.signature != verdict.signature) {
    return broken("signature", expect.signature, verdict.signature.empty() ? "none" : verdict.signature);
  }
  return {};
}

}  // namespace fusesmith
