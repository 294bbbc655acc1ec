// softmax along one axis.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Softmax {
  int64_t axis = -1;

  static constexpr OpInfo info{"softmax",
                               "exp(x - max) / sum exp(x - max) along the axis; a row that contains NaN or "
                               "+inf, or only -inf, is NaN; in other rows the result for -inf is 0.",
                               1, 1, OpClass::reduction};
  static constexpr auto fields() { return std::tuple{Field{"axis", &Softmax::axis, Axis{}}}; }
  bool operator==(const Softmax&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = true;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto grid = grid_rules::never;
  static constexpr auto scaling = scaling_rules::unscaled;
  // A row of -inf alone is NaN, but a hidden key here and there is what softmax is for.
  static Magnitude magnitude(const MagnitudeOperands&) { return {1, true, true}; }
  void axis_relations(AxisRelations& axes) const {
    axes.align(0);
    axes.fix(axes.out(), *resolve_axis(axis, axes.rank(0)));
  }
};

inline Result<Types> infer(const Softmax& op, TypeSpan inputs) {
  if (const auto axis = resolve_axis(op.axis, inputs[0].rank()); !axis) return Problem{axis.problem()};
  return same_float_type(inputs);
}

}  // namespace fusesmith::graph
