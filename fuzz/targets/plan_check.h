// What holds for every plan (oracle/plan.h).
#pragma once

#include <algorithm>

#include "oracle/plan.h"

namespace fusesmith::fuzz {

// Aborts unless each node is in one region, in graph order, regions can run in their order, and what other
// regions read or the graph returns is stored.
inline void check_plan(const Graph& graph, const oracle::Plan& plan) {
  const auto has = [](const auto& list, auto x) {
    return std::find(list.begin(), list.end(), x) != list.end();
  };
  std::vector<int> seen(graph.nodes().size());
  std::vector<bool> stored(static_cast<size_t>(graph.value_count()));
  for (ValueId value = 0; value < graph.source_count(); ++value) stored[static_cast<size_t>(value)] = true;
  for (const oracle::Region& region : plan.regions) {
    check(!region.nodes.empty() && std::is_sorted(region.nodes.begin(), region.nodes.end()),
          "in graph order");
    for (const int node : region.nodes) ++seen.at(static_cast<size_t>(node));
    const oracle::Region made = oracle::make_region(graph, region.nodes);
    check(made.inputs == region.inputs && made.outputs == region.outputs,
          "a region reads and stores what it must");
    for (const ValueId value : region.inputs)
      check(stored[static_cast<size_t>(value)], "a region reads what is stored before");
    for (const ValueId value : region.outputs) stored[static_cast<size_t>(value)] = true;
    for (const ValueId value : region.strided)
      check(has(region.inputs, value), "a strided value is an input");
    for (const ValueId value : region.copied) check(has(region.inputs, value), "a copied value is an input");
  }
  check(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }), "each node once");
  for (const ValueId value : graph.outputs()) check(stored[static_cast<size_t>(value)], "outputs are stored");
}

}  // namespace fusesmith::fuzz
