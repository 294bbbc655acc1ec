#include "fuzz/explain/patterns_off.h"

#include <algorithm>
#include <set>

#include "fuzz/run/backends.h"
#include "fuzz/run/difference.h"

namespace fusesmith::fuzz {

namespace {

// The regions of `without` that share a node with one that the pattern formed. `judged`: by region, or empty.
std::vector<Instead> instead_of(const std::string& pattern, const Graph& graph, const Plan& with,
                                const Plan& without, const std::vector<RegionVerdict>& judged) {
  std::set<int> nodes;
  for (const Region& region : with.regions) {
    if (std::find(region.patterns.begin(), region.patterns.end(), pattern) != region.patterns.end())
      nodes.insert(region.nodes.begin(), region.nodes.end());
  }
  std::vector<Instead> found;
  for (size_t r = 0; r < without.regions.size(); ++r) {
    const Region& region = without.regions[r];
    if (std::none_of(region.nodes.begin(), region.nodes.end(), [&](int n) { return nodes.contains(n); }))
      continue;
    const Node& last = graph.nodes()[static_cast<size_t>(region.nodes.back())];
    Instead instead{last.name, semantic_name(last.op), region.patterns, {}};
    if (!judged.empty()) instead.deviations = judged[r].deviations;
    found.push_back(std::move(instead));
  }
  return found;
}

}  // namespace

std::vector<std::string> patterns_of(const Plan& plan) {
  std::vector<std::string> patterns;
  for (const Region& region : plan.regions) {
    for (const std::string& pattern : region.patterns) {
      if (std::find(patterns.begin(), patterns.end(), pattern) == patterns.end()) patterns.push_back(pattern);
    }
  }
  return patterns;
}

std::optional<PatternOff> run_without(const std::string& pattern, const Case& test_case, const CaseRun& run,
                                      const Judging& judging) {
  const Graph& graph = test_case.graph;
  if (test_case.steps > 1 || !test_case.stand_ins.empty()) return {};
  CompileOptions options{test_case.policy.skip_patterns, judging.options.faults, test_case.policy.tf32,
                         judging.options.deadlines};
  options.skip_patterns.push_back(pattern);
  const auto program = find_backend(judging.candidate)->compile(graph, options);
  if (!program) return {};
  const std::vector<TensorPtr>& baseline = run.baseline_trace.values;
  const auto sources = graph.inputs().size() + graph.states().size();
  const Trace trace =
      (*program)->run({baseline.begin(), baseline.begin() + static_cast<std::ptrdiff_t>(sources)});
  Difference left;
  for (ValueId v : graph.outputs())
    left += difference(*baseline[static_cast<size_t>(v)], *trace.values[static_cast<size_t>(v)]);
  return PatternOff{pattern,
                    {},
                    left.unequal,
                    left.largest,
                    instead_of(pattern, graph, run.candidate->plan(), (*program)->plan(), {})};
}

PatternOff judge_without(const std::string& pattern, const Case& test_case, const CaseRun& run,
                         const Judging& judging) {
  Judging without = judging;
  without.options.skip_patterns.push_back(pattern);
  const CaseRun off = without.run(test_case);
  PatternOff result{pattern, off.verdict.verdict, off.verdict.unequal, off.verdict.max_difference, {}};
  if (off.candidate)
    result.instead = instead_of(pattern, test_case.graph, run.candidate->plan(), off.candidate->plan(),
                                off.verdict.candidate.regions);
  return result;
}

}  // namespace fusesmith::fuzz
