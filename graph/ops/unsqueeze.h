// A new axis of size 1.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Unsqueeze {
  int64_t axis = 0;

  static constexpr OpInfo info{"unsqueeze", "A new axis of size 1 at `axis` of the output.", 1, 1,
                               OpClass::movement};
  static constexpr auto fields() { return std::tuple{Field{"axis", &Unsqueeze::axis, Axis{true}, true}}; }
  bool operator==(const Unsqueeze&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto grid = grid_rules::of_all_inputs;
  static constexpr auto scaling = scaling_rules::as_first_input;
  static constexpr auto axis_relations = axis_rules::row_major;
};

inline Result<Types> infer(const Unsqueeze& op, TypeSpan inputs) {
  const auto axis = resolve_axis(op.axis, inputs[0].rank() + 1);
  if (!axis) return Problem{axis.problem()};
  TensorType y = inputs[0];
  y.shape.insert(y.shape.begin() + *axis, 1);
  return one(y);
}

}  // namespace fusesmith::graph
