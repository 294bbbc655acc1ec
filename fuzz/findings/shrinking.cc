#include "fuzz/findings/shrinking.h"

#include <algorithm>
#include <chrono>

#include "backends/remote/worker_names.h"
#include "fuzz/base/clock.h"
#include "fuzz/base/table.h"
#include "fuzz/report/symptoms.h"
#include "fuzz/run/metamorphic_case.h"
#include "minimizer/edit.h"

namespace fusesmith::fuzz {

namespace {

Probe probe_of(const CaseRun& run) {
  Probe probe;
  probe.signature = run.verdict.signature_text();
  probe.values = run.candidate_trace.values;
  if (!run.verdict.failing_region) return probe;
  // Extraction gives the region the bits that its own backend saw.
  const auto [role, region] = *run.verdict.failing_region;
  if (role == BackendRole::baseline) probe.values = run.baseline_trace.values;
  const Program* program = role == BackendRole::candidate ? run.candidate.get() : run.baseline.get();
  if (program) probe.failing_nodes = program->plan().regions.at(region).nodes;
  return probe;
}

// Judges cases that hold the options already: what a candidate leaves out of its policy must not come back.
Judging without_options(Judging judging) {
  judging.options.skip_patterns.clear();
  judging.options.implicit_casts.reset();
  return judging;
}

// Whether a backend of the pair computes one graph, whatever graph it is given: a function or a plug-in of a
// user. A smaller graph would then be another task, which nobody set it.
bool has_fixed_graph(const Judging& judging) {
  const auto is_fixed = [](const std::string& name) {
    const auto* kind = backends::worker_kind(name);
    return kind != nullptr && !kind->compiles;
  };
  return is_fixed(judging.baseline) || is_fixed(judging.candidate);
}

bool is_pass(const Verdict& verdict) {
  const VerdictClass found = verdict.verdict;
  return !verdict.finding && verdict.known.empty() &&
         (found == VerdictClass::identical || found == VerdictClass::reassociation ||
          found == VerdictClass::precision_policy);
}

// Whether the patterns that made the failing region made one of this run too; of a region that was not
// rewritten, that can be said of every run.
bool applies(const Verdict& failing, const Verdict& verdict) {
  const RegionVerdict* failed = failing.failing();
  if (!failed || failed->patterns.empty()) return true;
  const auto& regions = verdict.of(failing.failing_region->role).regions;
  return std::any_of(regions.begin(), regions.end(),
                     [&](const RegionVerdict& region) { return region.patterns == failed->patterns; });
}

// Whether both findings are of one kind, in whichever dtype.
bool fail_alike(const Verdict& a, const Verdict& b) {
  if (a.verdict != b.verdict) return false;
  const RegionVerdict *region_a = a.failing(), *region_b = b.failing();
  if (!region_a || !region_b) return region_a == region_b;
  return a.failing_region->role == b.failing_region->role && region_a->patterns == region_b->patterns &&
         region_a->symptom == region_b->symptom;
}

// Whether the same rewrite of the same backend gives wrong values in both.
bool both_give_wrong_values(const Verdict& a, const Verdict& b) {
  const RegionVerdict *region_a = a.failing(), *region_b = b.failing();
  return region_a && region_b && a.failing_region->role == b.failing_region->role &&
         region_a->patterns == region_b->patterns && is_wrong_value(region_a->symptom) &&
         is_wrong_value(region_b->symptom);
}

// The case of a finding by the check isolation, with what was replaced in its policy: smaller graphs keep it,
// where they would draw another. The same case for other findings.
Case with_replacement(Case test_case, const Verdict& seen) {
  const RegionVerdict* failing = seen.failing();
  if (!failing || failing->symptom != Symptom::depends_on_neighbours) return test_case;
  if (const auto replacement = replacement_of(test_case, seen))
    test_case.policy.replaced = to_string(*replacement, test_case.graph);
  return test_case;
}

std::string size_text(const Measure& measure) {
  return counted(measure.nodes, "node") + ", " + counted(measure.elements, "element");
}

// Which rows are compared is drawn again for each size, so that a size that passes says nothing of the
// kernel.
bool is_of_drawn_places(const Verdict& verdict) {
  return verdict.signature && (verdict.signature->symptom == Symptom::depends_on_batch ||
                               verdict.signature->symptom == Symptom::exchange_differs);
}

}  // namespace

Trial trial_of(const Reproduction& seen, const Judging& judging, const Stop& stop) {
  const Judging by_case = without_options(judging.quick());
  const int trials = trials_for(seen.rate);
  const Verdict& failing = seen.run.verdict;
  return [&failing, by_case, trials, stop](const Case& neighbour) {
    Outcome outcome = Outcome::other;
    for (int i = 0; i < trials && !(stop && stop()); ++i) {
      const Verdict found = by_case.run(neighbour).verdict;
      if (found.finding && fail_alike(found, failing)) return Outcome::fails;
      if (found.finding && both_give_wrong_values(found, failing)) return Outcome::fails_alike;
      outcome = !is_pass(found)           ? Outcome::other
                : applies(failing, found) ? Outcome::passes
                                          : Outcome::not_applied;
    }
    return outcome;
  };
}

Predicate interestingness_test(const Judging& judging, const Stop& stop, const std::string& signature,
                               int trials, const std::function<void(const Verdict&)>& on_finding) {
  return [=](const Case& test_case) -> std::optional<Probe> {
    if (stop && stop()) return {};
    const CaseRun run = run_until_failing(test_case, signature, judging, trials, stop);
    if (!run.verdict.finding) return {};
    if (on_finding) on_finding(run.verdict);
    return probe_of(run);
  };
}

Shrunk shrink(const Case& start, const Reproduction& seen, const Judging& judging, MinimizeOptions options,
              const Stop& stop, const OnOther& on_other) {
  constexpr double kWithRuns = 1.5;  // times the limit, after which the result is run only once more
  const auto begun = std::chrono::steady_clock::now();
  const auto seconds = [&] { return seconds_since(begun); };
  const Judging by_case = without_options(judging);
  const std::string signature = seen.run.verdict.signature_text();
  Verdict latest;  // of the last candidate that failed
  const Predicate fails = interestingness_test(by_case.quick(), stop, signature, trials_for(seen.rate),
                                               [&](const Verdict& verdict) { latest = verdict; });
  options.fixed_graph |= has_fixed_graph(judging);
  if (on_other) options.on_other = [&](const std::string&, const Case& other) { on_other(latest, other); };
  Shrunk shrunk{minimize(with_replacement(with_options(start, judging.options), seen.run.verdict), fails,
                         options, probe_of(seen.run)),
                {}};
  const Stop hurry = [&] { return (stop && stop()) || seconds() >= kWithRuns * options.max_seconds; };
  shrunk.seen = reproduce(shrunk.result.test_case, signature, by_case, kMostTrials, hurry);
  return shrunk;
}

Neighbours neighbours_of(const Case& test_case, const Reproduction& seen, const Judging& judging,
                         const Stop& stop, NeighbourOptions options) {
  if (is_of_drawn_places(seen.run.verdict)) {
    Neighbours none;
    none.exhausted = true;
    return none;
  }
  options.fixed_graph |= has_fixed_graph(judging);
  return find_neighbours(test_case, trial_of(seen, judging, stop), options);
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
