// Axes of size 1 repeated, new leading axes added.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct BroadcastTo {
  Shape shape;

  static constexpr OpInfo info{"broadcast_to",
                               "x repeated along axes of size 1 and new leading axes (numpy's rules).", 1, 1,
                               OpClass::movement};
  static constexpr auto fields() {
    return std::tuple{Field{"shape", &BroadcastTo::shape, Free{"a shape that x broadcasts to"}, true}};
  }
  bool operator==(const BroadcastTo&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto grid = grid_rules::of_all_inputs;
  static constexpr auto scaling = scaling_rules::as_first_input;
  static constexpr auto axis_relations = axis_rules::broadcast;
};

inline Result<Types> infer(const BroadcastTo& op, TypeSpan inputs) {
  const auto shape = broadcast(inputs[0].shape, op.shape);
  if (!shape || *shape != op.shape) {
    return expected("a shape that " + to_string(inputs[0]) + " broadcasts to, got " + to_string(op.shape));
  }
  return one({inputs[0].dtype, op.shape});
}

}  // namespace fusesmith::graph
