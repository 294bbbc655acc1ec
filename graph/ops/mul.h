// a * b, broadcasting.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Mul {
  static constexpr OpInfo info{"mul", "a * b, broadcasting; an infinity times 0 is NaN.", 2, 2,
                               OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Mul&) const = default;

  static constexpr Spelling spelling{.torch = "torch.mul", .onnx = "Mul", .jax = "jnp.multiply"};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::multiplied;
  static constexpr auto grid = grid_rules::multiplied;
  static constexpr auto scaling = scaling_rules::product;
  static constexpr auto axis_relations = axis_rules::broadcast;
};

inline Result<Types> infer(const Mul&, TypeSpan inputs) { return broadcast_float_types(inputs); }

}  // namespace fusesmith::graph
