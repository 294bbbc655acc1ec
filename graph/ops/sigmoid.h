// 1 / (1 + exp(-x)).
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Sigmoid {
  static constexpr OpInfo info{"sigmoid", "1 / (1 + exp(-x)); 0 for -inf, 1 for inf.", 1, 1,
                               OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Sigmoid&) const = default;

  static constexpr Spelling spelling{.torch = "torch.sigmoid", .onnx = "Sigmoid", .jax = "jax.nn.sigmoid"};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::unit_positive;
  static constexpr auto scaling = scaling_rules::unscaled;
  static constexpr auto axis_relations = axis_rules::broadcast;
  static std::optional<Grid> grid(const GridOperands& x) {
    return grid_rules::saturates(x.in[0]) ? std::optional(Grid{-1, 1}) : std::nullopt;
  }
};

inline Result<Types> infer(const Sigmoid&, TypeSpan inputs) { return same_float_type(inputs); }

}  // namespace fusesmith::graph
