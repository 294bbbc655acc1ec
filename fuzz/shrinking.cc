#include "fuzz/shrinking.h"

#include <algorithm>

#include "backends/rewrite/pattern.h"
#include "fuzz/table.h"
#include "fuzz/verdict_text.h"

namespace fusesmith {

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
  if (program) probe.guilty_nodes = program->plan().regions.at(guilty.region->region).nodes;
  return probe;
}

std::string size_text(const Measure& measure) {
  return counted(measure.nodes, "node") + ", " + counted(measure.elements, "element");
}

}  // namespace

Predicate predicate_of(const Judging& judging, std::function<bool()> stop) {
  return [judging, stop = std::move(stop)](const Case& test_case) -> std::optional<Probe> {
    if (stop && stop()) return {};
    const CaseRun run = judging.run(test_case);
    if (!run.verdict.finding) return {};
    return probe_of(run, judging);
  };
}

MinimizeResult shrink(const Case& start, const Judging& judging, MinimizeOptions options,
                      std::function<bool()> stop) {
  if (options.pattern_names.empty()) {
    for (const Pattern& pattern : all_patterns()) options.pattern_names.emplace_back(pattern.name);
  }
  return minimize(start, predicate_of(judging.quick(), std::move(stop)), options);
}

std::string shrink_text(const MinimizeResult& result) {
  return size_text(result.before) + " -> " + size_text(result.after) + "; " + std::to_string(result.queries) +
         " queries in " + short_number(result.seconds) + " s" +
         (result.exhausted ? ", stopped by its limits" : "") +
         (result.flaky ? ", failing only sometimes" : "");
}

}  // namespace fusesmith
