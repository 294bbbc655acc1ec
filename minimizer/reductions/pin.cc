// Remove the nodes that compute a value: the value becomes an input. The values that remove the most nodes
// come first.
#include <algorithm>
#include <set>

#include "minimizer/reductions.h"

namespace fusesmith::minimizer {
namespace {

// How many nodes are not needed any more once this value is an input.
size_t freed_nodes(const Graph& graph, ValueId pinned) {
  std::set<ValueId> needed(graph.outputs().begin(), graph.outputs().end());
  for (const State& state : graph.states()) needed.insert(state.next);
  size_t kept = 0;
  const auto& nodes = graph.nodes();
  for (size_t n = nodes.size(); n-- > 0;) {
    bool keep = false;
    for (ValueId v = nodes[n].first_output; v < nodes[n].first_output + nodes[n].output_count; ++v) {
      keep = keep || (v != pinned && needed.count(v) > 0);
    }
    if (!keep) continue;
    ++kept;
    needed.insert(nodes[n].inputs.begin(), nodes[n].inputs.end());
  }
  return nodes.size() - kept;
}

std::vector<Edits> propose_pin(const Situation& now) {
  const Graph& graph = now.test_case.graph;
  std::vector<std::pair<size_t, ValueId>> order;
  for (ValueId v = static_cast<ValueId>(graph.inputs().size()); v < graph.value_count(); ++v) {
    order.emplace_back(graph.is_state(v) ? 0 : freed_nodes(graph, v), v);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Edits> proposals;
  for (const auto& [freed, v] : order) {
    const bool known = static_cast<size_t>(v) < now.probe.values.size();
    const auto bits = known ? now.probe.values[static_cast<size_t>(v)] : nullptr;
    if (bits) proposals.push_back({Pin{graph.name(v), bits}});
    proposals.push_back({Pin{graph.name(v), nullptr}});
  }
  return proposals;
}

}  // namespace

const Reduction kPin{"pin", "Make a value an input, with the bits it had or a simple recipe.", propose_pin};

}  // namespace fusesmith::minimizer
