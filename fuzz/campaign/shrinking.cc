#include "fuzz/campaign/shrinking.h"

#include <algorithm>

#include "backends/rewrite/pattern.h"
#include "fuzz/base/table.h"
#include "fuzz/report/verdict_text.h"

namespace fusesmith::fuzz {

namespace {

constexpr int kFirstTrials = 10;  // to see how a start fails

Probe probe_of(const CaseRun& run, const Judging& judging) {
  Probe probe;
  probe.signature = run.verdict.signature;
  probe.values = run.candidate_trace.values;
  const Guilty guilty = guilty_region(run.verdict);
  if (!guilty.region) return probe;
  // Extraction gives the region the bits that its own backend saw.
  const bool of_candidate = guilty.backend->backend == judging.candidate;
  if (!of_candidate) probe.values = run.baseline_trace.values;
  const Program* program = of_candidate ? run.candidate.get() : run.baseline.get();
  if (program) probe.failing_nodes = program->plan().regions.at(guilty.region->region).nodes;
  return probe;
}

std::string size_text(const Measure& measure) {
  return counted(measure.nodes, "node") + ", " + counted(measure.elements, "element");
}

}  // namespace

Predicate predicate_of(const Judging& judging, const Stop& stop, const std::string& signature, int trials) {
  return [=](const Case& test_case) -> std::optional<Probe> {
    if (stop && stop()) return {};
    const CaseRun run = run_until_failing(test_case, signature, judging, trials, stop);
    if (!run.verdict.finding) return {};
    return probe_of(run, judging);
  };
}

Shrunk shrink(const Case& start, const std::string& signature, const Judging& judging,
              MinimizeOptions options, const Stop& stop) {
  if (options.pattern_names.empty()) {
    for (const Pattern& pattern : all_patterns()) options.pattern_names.emplace_back(pattern.name);
  }
  const Judging quick = judging.quick();
  const CaseRun first = run_until_failing(start, signature, quick, kFirstTrials, stop);
  if (!first.verdict.finding) {
    Shrunk passes;
    passes.result.test_case = start;
    passes.result.before = passes.result.after = measure(start);
    return passes;
  }
  const std::string wanted = signature.empty() ? first.verdict.signature : signature;
  const FailureRate rate = failure_rate(start, wanted, quick, stop);
  Shrunk shrunk{minimize(start, predicate_of(quick, stop, wanted, trials_for(rate)), options), rate};
  if (rate.sometimes() || shrunk.result.flaky)
    shrunk.rate = failure_rate(shrunk.result.test_case, wanted, quick, stop);
  return shrunk;
}

std::string shrink_text(const Shrunk& shrunk) {
  const MinimizeResult& result = shrunk.result;
  const FailureRate& rate = shrunk.rate;
  return size_text(result.before) + " -> " + size_text(result.after) + "; " + std::to_string(result.queries) +
         " queries in " + short_number(result.seconds) + " s" +
         (result.exhausted ? ", stopped by its limits" : "") +
         (rate.sometimes()
              ? ", failing in " + std::to_string(rate.failed) + " of " + counted(rate.runs, "run")
              : "");
}

}  // namespace fusesmith::fuzz
