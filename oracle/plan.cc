#include "oracle/plan.h"

#include <algorithm>

namespace fusesmith {
namespace {

bool contains(const auto& list, auto x) { return std::find(list.begin(), list.end(), x) != list.end(); }

}  // namespace

std::string to_string(const Deviation& deviation) {
  switch (deviation.kind) {
    case Deviation::Kind::drop:
      return "drop " + deviation.value;
    case Deviation::Kind::move:
      return "move " + deviation.value;
    case Deviation::Kind::add:
      return "add " + deviation.value;
  }
  return deviation.value;
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

std::optional<Disagreement> first_difference(Disagreement::Kind kind, const Plan& plan, const Trace& first,
                                             const Trace& second) {
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    for (ValueId v : plan.regions[r].outputs) {
      const TensorPtr &a = first.values[static_cast<size_t>(v)], &b = second.values[static_cast<size_t>(v)];
      if (a == b || (a && b && *a == *b)) continue;
      if (!a || !b) return Disagreement{kind, r, v, 0, 0, 0};
      const auto at = std::mismatch(a->bytes.begin(), a->bytes.end(), b->bytes.begin()).first;
      const int64_t element = (at - a->bytes.begin()) / size_of(a->type.dtype);
      return Disagreement{kind, r, v, element, a->value(element), b->value(element)};
    }
  }
  return std::nullopt;
}

}  // namespace fusesmith
