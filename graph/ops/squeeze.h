// An axis of size 1 removed.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Squeeze {
  int64_t axis = 0;

  static constexpr OpInfo info{"squeeze", "x without the axis, which must have size 1.", 1, 1,
                               OpClass::movement};
  static constexpr auto fields() { return std::tuple{Field{"axis", &Squeeze::axis, Axis{}, true}}; }
  bool operator==(const Squeeze&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto grid = grid_rules::of_all_inputs;
  static constexpr auto scaling = scaling_rules::as_first_input;
  static constexpr auto axis_relations = axis_rules::row_major;
};

inline Result<Types> infer(const Squeeze& op, TypeSpan inputs) {
  const auto axis = resolve_axis(op.axis, inputs[0].rank());
  if (!axis) return Problem{axis.problem()};
  TensorType y = inputs[0];
  if (y.shape[static_cast<size_t>(*axis)] != 1) {
    return expected("an axis of size 1, got axis " + std::to_string(op.axis) + " of " + to_string(y));
  }
  y.shape.erase(y.shape.begin() + *axis);
  return one(y);
}

}  // namespace fusesmith::graph
