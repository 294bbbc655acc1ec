// The error function.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Erf {
  static constexpr OpInfo info{"erf",
                               "2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x; +-1 for +-inf.", 1,
                               1, OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Erf&) const = default;

  static constexpr Spelling spelling{.torch = "torch.erf", .onnx = "Erf", .jax = "lax.erf"};
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

inline Result<Types> infer(const Erf&, TypeSpan inputs) { return same_float_type(inputs); }

}  // namespace fusesmith::graph
