#include "graph/axis_classes.h"

#include <map>
#include <numeric>

#include "graph/op_traits.h"

namespace fusesmith::graph {
namespace {

// Union-find over the axes of all values.
class Axes {
 public:
  explicit Axes(const Graph& graph) : graph_(graph) {
    for (ValueId v = 0; v < graph.value_count(); ++v) {
      first_.push_back(parents_.size());
      parents_.resize(parents_.size() + static_cast<size_t>(graph.type(v).rank()));
    }
    std::iota(parents_.begin(), parents_.end(), size_t{0});
    fixed_.resize(parents_.size(), false);
    tiled_.resize(parents_.size(), false);
    for (const Node& node : graph.nodes()) add(node);
  }

  std::vector<AxisClass> classes() const {
    std::map<size_t, AxisClass> by_root;
    for (ValueId v = 0; v < graph_.value_count(); ++v) {
      for (int axis = 0; axis < graph_.type(v).rank(); ++axis) {
        const size_t at = id(v, axis);
        AxisClass& own = by_root[find(at)];
        own.axes.push_back({v, axis});
        own.size = graph_.type(v).shape[static_cast<size_t>(axis)];
        own.fixed = own.fixed || fixed_[at];
        own.tiled = own.tiled || tiled_[at];
      }
    }
    std::vector<AxisClass> found;
    for (auto& [root, axes] : by_root) found.push_back(std::move(axes));
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
    const auto at = [&](const TensorAxis& a) { return id(values[a.tensor], a.axis); };
    for (const auto& [a, b] : relations.united()) parents_[find(at(a))] = find(at(b));
    for (const TensorAxis& axis : relations.fixed()) fixed_[at(axis)] = true;
    for (const TensorAxis& axis : relations.tiled()) tiled_[at(axis)] = true;
  }
  size_t id(ValueId v, int axis) const { return first_[static_cast<size_t>(v)] + static_cast<size_t>(axis); }
  size_t find(size_t at) const {
    while (parents_[at] != at) at = parents_[at];
    return at;
  }

  const Graph& graph_;
  std::vector<size_t> first_, parents_;
  std::vector<bool> fixed_, tiled_;
};

}  // namespace

std::vector<AxisClass> axis_classes(const Graph& graph) { return Axes(graph).classes(); }

}  // namespace fusesmith::graph
