// x * sigmoid(x).
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Silu {
  static constexpr OpInfo info{"silu", "x * sigmoid(x); silu(-inf) is NaN (-inf times 0).", 1, 1,
                               OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Silu&) const = default;

  static constexpr Spelling spelling{.torch = "F.silu", .jax = "jax.nn.silu"};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto grid = grid_rules::ramp;
  static constexpr auto scaling = scaling_rules::unscaled;
  static constexpr auto axis_relations = axis_rules::broadcast;
};

inline Result<Types> infer(const Silu&, TypeSpan inputs) { return same_float_type(inputs); }

}  // namespace fusesmith::graph
