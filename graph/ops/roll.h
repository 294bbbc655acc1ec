// A cyclic shift along one axis.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Roll {
  int64_t axis = 0;
  int64_t shift = 1;

  static constexpr OpInfo info{"roll", "Element i of the axis moves to (i + shift) mod size.", 1, 1,
                               OpClass::movement};
  static constexpr auto fields() {
    return std::tuple{Field{"axis", &Roll::axis, Axis{}, true},
                      Field{"shift", &Roll::shift, IntRange{-kMaxElements, kMaxElements}, true}};
  }
  bool operator==(const Roll&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto grid = grid_rules::of_all_inputs;
  static constexpr auto scaling = scaling_rules::as_first_input;
  void axis_relations(AxisRelations& axes) const { axis_rules::all_but(axes, axis); }
};

inline Result<Types> infer(const Roll& op, TypeSpan inputs) {
  if (const auto axis = resolve_axis(op.axis, inputs[0].rank()); !axis) return Problem{axis.problem()};
  return one(inputs[0]);
}

// The shift to higher indices, in [0, size).
inline int64_t roll_offset(const Roll& op, int64_t size) { return (op.shift % size + size) % size; }

}  // namespace fusesmith::graph
