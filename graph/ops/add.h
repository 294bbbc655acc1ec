// a + b, broadcasting.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Add {
  static constexpr OpInfo info{"add", "a + b, broadcasting; the sum of infinities of both signs is NaN.", 2,
                               2, OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Add&) const = default;

  static constexpr Spelling spelling{.torch = "torch.add", .onnx = "Add", .jax = "jnp.add"};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::added;
  static constexpr auto grid = grid_rules::added;
  static constexpr auto scaling = scaling_rules::as_all_inputs;
  static constexpr auto axis_relations = axis_rules::broadcast;
};

inline Result<Types> infer(const Add&, TypeSpan inputs) { return broadcast_float_types(inputs); }

}  // namespace fusesmith::graph
