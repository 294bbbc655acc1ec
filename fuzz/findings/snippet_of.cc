#include "fuzz/findings/snippet_of.h"

#include <algorithm>

#include "fuzz/report/finding_facts.h"

namespace fusesmith::fuzz {

namespace {

// The judge's evidence, if it is an output and its interval is that of the case's inputs, whatever program
// computes it.
std::optional<ShownElement> judged_element(const Graph& graph, const CaseRun& run) {
  const RegionVerdict* failing = run.verdict.failing();
  if (!failing || is_disagreement(*failing)) return {};
  const auto value = graph.find(failing->worst.value);
  const Region* region = failing_plan_region(run);
  const auto is_source = [&](ValueId input) { return input < graph.source_count(); };
  const auto is_output = [&](ValueId output) {
    return std::find(graph.outputs().begin(), graph.outputs().end(), output) != graph.outputs().end();
  };
  if (!value || !is_output(*value) || !region) return {};
  if (!std::all_of(region->inputs.begin(), region->inputs.end(), is_source)) return {};
  const ElementEvidence& worst = failing->worst;
  return ShownElement{*value, worst.element, worst.got, worst.want, worst.lo, worst.hi};
}

}  // namespace

std::string snippet_of(const Case& test_case, const CaseRun& run, const std::string& backend,
                       const Environment& environment, const std::vector<std::string>& left_out) {
  SnippetFacts facts{judged_element(test_case.graph, run), left_out};
  for (const auto& [name, says] : environment)
    if (name == backend) facts.libraries = says;
  return snippet(test_case, backend, facts);
}

}  // namespace fusesmith::fuzz
