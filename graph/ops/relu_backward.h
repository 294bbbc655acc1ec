// The gradient of relu, and the step function of formulas.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct ReluBackward {
  static constexpr OpInfo info{"relu_backward",
                               "dy where x is above 0 or NaN, else 0, of dy and x, broadcasting.", 2, 2,
                               OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const ReluBackward&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto scaling = scaling_rules::as_first_input;
  static constexpr auto axis_relations = axis_rules::broadcast;
  static std::optional<Grid> grid(const GridOperands& x) { return Grid{x.in[0].step, x.in[0].largest}; }
  static Magnitude magnitude(const MagnitudeOperands& x) { return x.in[0]; }
};

inline Result<Types> infer(const ReluBackward&, TypeSpan inputs) { return broadcast_float_types(inputs); }

}  // namespace fusesmith::graph
