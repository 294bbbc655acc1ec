#include "fuzz/campaign/shrinking.h"

#include <algorithm>

#include "fuzz/base/table.h"
#include "fuzz/report/verdict_text.h"

namespace fusesmith::fuzz {

namespace {

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

Predicate interestingness_test(const Judging& judging, const Stop& stop, const std::string& signature,
                               int trials) {
  return [=](const Case& test_case) -> std::optional<Probe> {
    if (stop && stop()) return {};
    const CaseRun run = run_until_failing(test_case, signature, judging, trials, stop);
    if (!run.verdict.finding) return {};
    return probe_of(run, judging);
  };
}

Shrunk shrink(const Case& start, const Reproduction& seen, const Judging& judging,
              const MinimizeOptions& options, const Stop& stop) {
  Judging by_case = judging;  // what a candidate leaves out of its policy must not come back
  by_case.options.skip_patterns.clear();
  by_case.options.implicit_casts.reset();
  const std::string& signature = seen.run.verdict.signature;
  const Predicate fails = interestingness_test(by_case.quick(), stop, signature, trials_for(seen.rate));
  Shrunk shrunk{minimize(with_options(start, judging.options), fails, options, probe_of(seen.run, judging)),
                {}};
  shrunk.seen = reproduce(shrunk.result.test_case, signature, by_case, kMostTrials, stop);
  return shrunk;
}

std::string shrink_text(const Shrunk& shrunk) {
  const MinimizeResult& result = shrunk.result;
  const FailureRate& rate = shrunk.seen.rate;
  return size_text(result.before) + " -> " + size_text(result.after) + "; " + std::to_string(result.queries) +
         " queries in " + short_number(result.seconds) + " s" +
         (result.exhausted ? ", stopped by its limits" : "") +
         (rate.sometimes()
              ? ", failing in " + std::to_string(rate.failed) + " of " + counted(rate.runs, "run")
              : "");
}

}  // namespace fusesmith::fuzz
