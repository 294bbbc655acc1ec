// Embedding: rows of a table.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Gather {
  static constexpr OpInfo info{
      "gather", "table[indices]: rows of the first axis; every index must be provably in range.", 2, 2,
      OpClass::movement};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Gather&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto grid = grid_rules::of_first_input;
  static constexpr auto scaling = scaling_rules::as_first_input;
  static void axis_relations(AxisRelations& axes) {
    const int indices = axes.rank(1);
    for (int axis = 0; axis < indices; ++axis) axes.unite(1, axis, axes.out(), axis);
    for (int axis = 1; axis < axes.rank(0); ++axis) axes.unite(0, axis, axes.out(), indices + axis - 1);
    axes.fix(0, 0);
  }
};

// table [v, ...], indices i32[...] -> [indices..., ...].
inline Result<Types> infer(const Gather&, TypeSpan inputs) {
  const TensorType& table = inputs[0];
  const TensorType& indices = inputs[1];
  if (table.rank() < 1) return expected("a table of rank 1 or more, got " + to_string(table));
  if (indices.dtype != Dtype::i32) return expected("i32 indices, got " + to_string(indices));
  TensorType y{table.dtype, indices.shape};
  y.shape.insert(y.shape.end(), table.shape.begin() + 1, table.shape.end());
  return one(y);
}

}  // namespace fusesmith::graph
