// Hyperbolic tangent.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Tanh {
  static constexpr OpInfo info{"tanh", "tanh(x); +-1 for +-inf.", 1, 1, OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Tanh&) const = default;

  static constexpr Spelling spelling{.torch = "torch.tanh", .onnx = "Tanh", .jax = "jnp.tanh"};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::unit_of_same_sign;
  static constexpr auto scaling = scaling_rules::unscaled;
  static constexpr auto axis_relations = axis_rules::broadcast;
  static std::optional<Grid> grid(const GridOperands& x) {
    return grid_rules::saturates(x.in[0]) ? std::optional(Grid{0, 1}) : std::nullopt;
  }
};

inline Result<Types> infer(const Tanh&, TypeSpan inputs) { return same_float_type(inputs); }

}  // namespace fusesmith::graph
