// The same elements, in order, under another shape.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Reshape {
  Shape shape;

  static constexpr OpInfo info{"reshape", "The same elements in the same order with another shape.", 1, 1,
                               OpClass::movement};
  static constexpr auto fields() {
    return std::tuple{Field{"shape", &Reshape::shape, Free{"the new shape, of as many elements"}, true}};
  }
  bool operator==(const Reshape&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto grid = grid_rules::of_all_inputs;
  static constexpr auto scaling = scaling_rules::as_first_input;
  static constexpr auto axis_relations = axis_rules::row_major;
};

inline Result<Types> infer(const Reshape& op, TypeSpan inputs) {
  for (int64_t dim : op.shape) {
    if (dim < 1) return expected("dimensions of 1 or more, got " + to_string(op.shape));
  }
  if (element_count(op.shape) != element_count(inputs[0])) {
    return expected("a shape of " + std::to_string(element_count(inputs[0])) + " elements, got " +
                    to_string(op.shape));
  }
  return one({inputs[0].dtype, op.shape});
}

}  // namespace fusesmith::graph
