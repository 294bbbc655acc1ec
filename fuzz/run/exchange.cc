// Exchanges: axes that belong together are found by uniting, op by op, the axes that run along with each
// other (graph/traits/axis_relations.h). An axis that an op reduces, cuts or reads by its position is fixed,
// and all that belong to it.
#include <algorithm>
#include <numeric>

#include "fuzz/run/symmetry.h"
#include "graph/op_traits.h"

namespace fusesmith::fuzz {
namespace {

class Axes {
 public:
  explicit Axes(const Graph& graph) : graph_(graph) {
    for (ValueId v = 0; v < graph.value_count(); ++v) {
      first_.push_back(static_cast<int>(parents_.size()));
      for (int axis = 0; axis < graph.type(v).rank(); ++axis)
        parents_.push_back(static_cast<int>(parents_.size()));
    }
    fixed_.resize(parents_.size(), false);
    tiled_.resize(parents_.size(), false);
    for (const Node& node : graph.nodes()) add(node);
  }

  std::vector<Exchange> exchanges() {
    std::vector<Exchange> found;
    for (int root = 0; root < static_cast<int>(parents_.size()); ++root) {
      if (find(root) == root) {
        if (auto exchange = of_class(root)) found.push_back(std::move(*exchange));
      }
    }
    return found;
  }

 private:
  void add(const Node& node) {
    std::vector<ValueId> values = node.inputs;
    for (int k = 0; k < node.output_count; ++k) values.push_back(node.first_output + k);
    Types types;
    for (ValueId v : values) types.push_back(graph_.type(v));
    const TypeSpan all = types;
    const AxisRelations relations =
        axis_relations_of(node.op, all.first(node.inputs.size()), all.subspan(node.inputs.size()));
    const auto at = [&](const TensorAxis& a) { return static_cast<size_t>(id(values[a.tensor], a.axis)); };
    for (const auto& [a, b] : relations.united())
      parents_[static_cast<size_t>(find(static_cast<int>(at(a))))] = find(static_cast<int>(at(b)));
    for (const TensorAxis& axis : relations.fixed()) fixed_[at(axis)] = true;
    for (const TensorAxis& axis : relations.tiled()) tiled_[at(axis)] = true;
  }
  int rank(ValueId v) const { return graph_.type(v).rank(); }
  int64_t size(ValueId v, int axis) const { return graph_.type(v).shape[static_cast<size_t>(axis)]; }
  int id(ValueId v, int axis) const { return first_[static_cast<size_t>(v)] + axis; }
  int find(int at) const {
    while (parents_[static_cast<size_t>(at)] != at) at = parents_[static_cast<size_t>(at)];
    return at;
  }
  std::optional<Exchange> of_class(int root) const {
    Exchange exchange;
    exchange.axes.assign(first_.size(), -1);
    for (ValueId v = 0; v < graph_.value_count(); ++v) {
      for (int axis = 0; axis < rank(v); ++axis) {
        if (find(id(v, axis)) != root) continue;
        const auto at = static_cast<size_t>(id(v, axis));
        int& own = exchange.axes[static_cast<size_t>(v)];
        if (fixed_[at] || own >= 0 || size(v, axis) < 2) return std::nullopt;  // also a diagonal
        own = axis;
        exchange.size = size(v, axis);
        exchange.bit_for_bit = exchange.bit_for_bit && !tiled_[at];
      }
    }
    return exchange;
  }

  const Graph& graph_;
  std::vector<int> first_, parents_;
  std::vector<bool> fixed_, tiled_;
};

}  // namespace

std::vector<Exchange> exchanges_of(const Graph& graph) {
  if (!graph.states().empty()) return {};
  return Axes(graph).exchanges();
}

}  // namespace fusesmith::fuzz
