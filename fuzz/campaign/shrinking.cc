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

// Judges cases that hold the options already: what a candidate leaves out of its policy must not come back.
Judging without_options(Judging judging) {
  judging.options.skip_patterns.clear();
  judging.options.implicit_casts.reset();
  return judging;
}

bool is_pass(const Verdict& verdict) {
  const VerdictClass found = verdict.verdict;
  return !verdict.finding && (found == VerdictClass::identical || found == VerdictClass::reassociation ||
                              found == VerdictClass::precision_policy);
}

// Whether the patterns that made the failing region made one of this run too; of a region that was not
// rewritten, that can be said of every run.
bool applies(const Guilty& failing, const Verdict& verdict) {
  if (!failing.region || failing.region->patterns.empty()) return true;
  const bool of_candidate = verdict.candidate.backend == failing.backend->backend;
  const auto& regions = (of_candidate ? verdict.candidate : verdict.baseline).regions;
  return std::any_of(regions.begin(), regions.end(), [&](const RegionVerdict& region) {
    return region.patterns == failing.region->patterns;
  });
}

// Whether both findings are of one kind, in whichever dtype.
bool fail_alike(const Verdict& a, const Verdict& b) {
  if (a.verdict != b.verdict) return false;
  const Guilty region_a = guilty_region(a), region_b = guilty_region(b);
  if (!region_a.region || !region_b.region) return region_a.region == region_b.region;
  return region_a.backend->backend == region_b.backend->backend &&
         region_a.region->patterns == region_b.region->patterns &&
         region_a.region->symptom == region_b.region->symptom;
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
  const Judging by_case = without_options(judging);
  const std::string& signature = seen.run.verdict.signature;
  const Predicate fails = interestingness_test(by_case.quick(), stop, signature, trials_for(seen.rate));
  Shrunk shrunk{minimize(with_options(start, judging.options), fails, options, probe_of(seen.run, judging)),
                {}};
  shrunk.seen = reproduce(shrunk.result.test_case, signature, by_case, kMostTrials, stop);
  return shrunk;
}

Neighbours neighbours_of(const Case& test_case, const Reproduction& seen, const Judging& judging,
                         const Stop& stop, const NeighbourOptions& options) {
  const Judging by_case = without_options(judging.quick());
  const int trials = trials_for(seen.rate);
  const Guilty failing = guilty_region(seen.run.verdict);
  const Trial trial = [&](const Case& neighbour) {
    Outcome outcome = Outcome::other;
    for (int i = 0; i < trials && !(stop && stop()); ++i) {
      const Verdict found = by_case.run(neighbour).verdict;
      if (found.finding && fail_alike(found, seen.run.verdict)) return Outcome::fails;
      outcome = !is_pass(found)           ? Outcome::other
                : applies(failing, found) ? Outcome::passes
                                          : Outcome::not_applied;
    }
    return outcome;
  };
  return find_neighbours(test_case, trial, options);
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
