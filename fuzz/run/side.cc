#include "fuzz/run/side.h"

#include <algorithm>

namespace fusesmith::fuzz {

namespace {

// Whether each region of the part is one of the whole graph, formed by the same patterns.
bool has_regions_of(const Plan& whole, const Subgraph& part, const Plan& plan) {
  return std::all_of(plan.regions.begin(), plan.regions.end(), [&](const Region& region) {
    std::vector<int> nodes;
    for (int n : region.nodes) nodes.push_back(part.nodes[static_cast<size_t>(n)]);
    return std::any_of(whole.regions.begin(), whole.regions.end(), [&](const Region& other) {
      return other.nodes == nodes && other.patterns == region.patterns;
    });
  });
}

}  // namespace

CompileOptions compile_options(const Case& test_case, const RunOptions& options) {
  return {test_case.policy.skip_patterns, options.faults, test_case.policy.tf32, options.deadlines};
}

Result<std::vector<TensorPtr>> run_part(const Graph& whole, const Subgraph& part, const Side& side,
                                        std::span<const TensorPtr> values, bool as_planned) {
  auto program = side.backend->compile(part.graph, side.options);
  if (!program) return Problem{program.problem()};
  const std::string name(side.backend->name());
  if (as_planned && !has_regions_of(side.plan(), part, (*program)->plan()))
    return Problem{name + " plans these nodes otherwise when they stand alone"};
  std::vector<TensorPtr> inputs;
  for (size_t i = 0; i < part.graph.inputs().size(); ++i) {
    inputs.push_back(values[static_cast<size_t>(part.in_whole[i])]);
    if (!inputs.back())
      return Problem{name + " keeps '" + whole.name(part.in_whole[i]) + "' inside a region"};
  }
  const Trace trace = (*program)->run(inputs);
  std::vector<TensorPtr> computed(static_cast<size_t>(whole.value_count()));
  for (size_t v = inputs.size(); v < trace.values.size(); ++v)
    computed[static_cast<size_t>(part.in_whole[v])] = trace.values[v];
  return computed;
}

}  // namespace fusesmith::fuzz
