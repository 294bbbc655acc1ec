// Axes read backwards.
#pragma once

#include "graph/ops/reduction.h"

namespace fusesmith::graph {

struct Flip {
  Shape axes;

  static constexpr OpInfo info{"flip", "The elements along the axes in reverse order.", 1, 1,
                               OpClass::movement};
  static constexpr auto fields() { return std::tuple{Field{"axes", &Flip::axes, kAxes, true}}; }
  bool operator==(const Flip&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto grid = grid_rules::of_all_inputs;
  static constexpr auto scaling = scaling_rules::as_first_input;
  void axis_relations(AxisRelations& all) const {
    all.align(0);
    const std::vector<int> turned = *resolve_axes(axes, all.rank(0));
    for (int axis : turned) all.fix(all.out(), axis);
  }
};

inline Result<Types> infer(const Flip& op, TypeSpan inputs) {
  if (const auto axes = resolve_axes(op.axes, inputs[0].rank()); !axes) return Problem{axes.problem()};
  return one(inputs[0]);
}

}  // namespace fusesmith::graph
