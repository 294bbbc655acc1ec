// Axes in another order.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Permute {
  Shape dims;  // output axis i is input axis dims[i]

  static constexpr OpInfo info{"permute", "Axes reordered: output axis i is input axis dims[i].", 1, 1,
                               OpClass::movement};
  static constexpr auto fields() {
    return std::tuple{Field{"dims", &Permute::dims, Free{"a permutation of the axes"}, true}};
  }
  bool operator==(const Permute&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto grid = grid_rules::of_all_inputs;
  static constexpr auto scaling = scaling_rules::as_first_input;
  void axis_relations(AxisRelations& axes) const {
    for (size_t axis = 0; axis < dims.size(); ++axis)
      axes.unite(0, static_cast<int>(dims[axis]), axes.out(), static_cast<int>(axis));
  }
};

inline Result<Types> infer(const Permute& op, TypeSpan inputs) {
  const TensorType& x = inputs[0];
  TensorType y{x.dtype, {}};
  std::vector<bool> seen(x.shape.size(), false);
  bool valid = op.dims.size() == x.shape.size();
  for (size_t i = 0; valid && i < op.dims.size(); ++i) {
    const int64_t dim = op.dims[i];
    valid = dim >= 0 && dim < x.rank() && !seen[static_cast<size_t>(dim)];
    if (!valid) break;
    seen[static_cast<size_t>(dim)] = true;
    y.shape.push_back(x.shape[static_cast<size_t>(dim)]);
  }
  if (!valid)
    return expected("a permutation of 0.." + std::to_string(x.rank() - 1) + ", got " + to_string(op.dims));
  return one(y);
}

}  // namespace fusesmith::graph
