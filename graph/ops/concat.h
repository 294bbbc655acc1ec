// Tensors one after another along an axis.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Concat {
  int64_t axis = 0;

  static constexpr OpInfo info{"concat", "The inputs joined along the axis; all other sizes must be equal.",
                               2, 16, OpClass::movement};
  static constexpr auto fields() { return std::tuple{Field{"axis", &Concat::axis, Axis{}, true}}; }
  bool operator==(const Concat&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto grid = grid_rules::of_all_inputs;
  static constexpr auto scaling = scaling_rules::as_all_inputs;
  void axis_relations(AxisRelations& axes) const { axis_rules::all_but(axes, axis); }
};

inline Result<Types> infer(const Concat& op, TypeSpan inputs) {
  const auto axis = resolve_axis(op.axis, inputs[0].rank());
  if (!axis) return Problem{axis.problem()};
  const auto at = static_cast<size_t>(*axis);
  TensorType y = inputs[0];
  for (const TensorType& x : inputs.subspan(1)) {
    TensorType like_first = x;
    if (x.rank() == y.rank()) like_first.shape[at] = inputs[0].shape[at];
    if (like_first != inputs[0])
      return expected("inputs like " + to_string(inputs[0]) + " but along the axis, got " + to_string(x));
    y.shape[at] += x.shape[at];
    if (y.shape[at] > kMaxElements) return expected("at most 2^27 elements, got " + to_string(y));
  }
  return one(y);
}

}  // namespace fusesmith::graph
