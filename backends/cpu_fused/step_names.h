// How the steps of a fused region are called in the graph: the names of its inner values.
#pragma once

#include <algorithm>
#include <string>

#include "backends/cpu_fused/run_fused.h"

namespace fusesmith::backends {

// The nodes of a region that runs with a probe; none without one.
class StepNames {
 public:
  explicit StepNames(const RegionScope& scope) : graph_(scope.graph) {
    if (graph_) nodes_ = scope.region->nodes;
  }

  // The first node of this op, or null.
  template <class T>
  const Node* find() const {
    for (int n : nodes_) {
      if (std::holds_alternative<T>(node(n).op)) return &node(n);
    }
    return nullptr;
  }

  // What the region's first T calls the operand that the region does not compute: "right of add".
  template <class T>
  std::string operand_from_memory() const {
    const Node* step = find<T>();
    if (!step) return "";
    size_t which = 0;
    while (which + 1 < step->inputs.size() && is_computed_inside(step->inputs[which])) ++which;
    return operand_name(which, step->inputs.size(), name(step->op));
  }

  // What the first node that reads the value calls it.
  std::string operand_that_is(ValueId value) const {
    for (int n : nodes_) {
      const auto& inputs = node(n).inputs;
      const auto which = static_cast<size_t>(std::find(inputs.begin(), inputs.end(), value) - inputs.begin());
      if (which < inputs.size()) return operand_name(which, inputs.size(), name(node(n).op));
    }
    return "";
  }

  // The last node's op, numbered among the nodes of the same op.
  std::string last() const {
    if (nodes_.empty()) return "";
    const Op& op = node(nodes_.back()).op;
    const auto same =
        std::count_if(nodes_.begin(), nodes_.end(), [&](int n) { return node(n).op.index() == op.index(); });
    return std::string(name(op)) + (same > 1 ? " " + std::to_string(same) : "");
  }

  // Whether what the region computes is moved afterwards: it then stands in another order than in the graph.
  bool result_moves() const {
    return std::any_of(nodes_.begin(), nodes_.end(),
                       [&](int n) { return is_movement(n) && is_computed_inside(node(n).inputs[0]); });
  }

 private:
  const Node& node(int n) const { return graph_->nodes()[static_cast<size_t>(n)]; }
  bool is_movement(int n) const { return info(node(n).op).op_class == OpClass::movement; }

  bool is_computed_inside(ValueId v) const {
    const auto producer = graph_->producer(v);
    if (!producer || std::find(nodes_.begin(), nodes_.end(), *producer) == nodes_.end()) return false;
    return !is_movement(*producer) || is_computed_inside(node(*producer).inputs[0]);
  }

  const Graph* graph_;
  std::vector<int> nodes_;
};

}  // namespace fusesmith::backends
