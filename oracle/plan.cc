#include "oracle/plan.h"

#include <algorithm>

namespace fusesmith {
namespace {

bool contains(const auto& list, auto x) { return std::find(list.begin(), list.end(), x) != list.end(); }

}  // namespace

std::string to_string(const Deviation& deviation) {
  return (deviation.kind == Deviation::Kind::drop ? "drop " : "move ") + deviation.value;
}

Region make_region(const Graph& graph, std::vector<int> nodes) {
  Region region;
  const auto& all = graph.nodes();
  for (int n : nodes) {
    for (ValueId v : all[static_cast<size_t>(n)].inputs) {
      const auto producer = graph.producer(v);
      if (!(producer && contains(nodes, *producer)) && !contains(region.inputs, v))
        region.inputs.push_back(v);
    }
  }
  const auto consumers = graph.consumers();
  for (int n : nodes) {
    const Node& node = all[static_cast<size_t>(n)];
    for (ValueId v = node.first_output; v < node.first_output + node.output_count; ++v) {
      const auto& readers = consumers[static_cast<size_t>(v)];
      const bool read_outside =
          std::any_of(readers.begin(), readers.end(), [&](int r) { return !contains(nodes, r); });
      if (read_outside || graph.is_observed(v) || readers.empty()) region.outputs.push_back(v);
    }
  }
  region.nodes = std::move(nodes);
  return region;
}

}  // namespace fusesmith
