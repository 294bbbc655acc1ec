#include "oracle/failing_node.h"

namespace fusesmith::oracle {

std::optional<int> failing_node(const Graph& graph, const RegionVerdict& verdict) {
  if (verdict.symptom == Symptom::explicit_cast_skipped) {
    for (const Deviation& deviation : verdict.deviations) {
      const auto value = graph.find(deviation.value);
      const auto node = value ? graph.producer(*value) : std::nullopt;
      if (node && std::holds_alternative<Cast>(graph.nodes()[static_cast<size_t>(*node)].op)) return node;
    }
  }
  const auto failing = graph.find(verdict.worst.value);
  return failing ? graph.producer(*failing) : std::nullopt;
}

}  // namespace fusesmith::oracle
