// a - b, broadcasting.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Sub {
  static constexpr OpInfo info{"sub", "a - b, broadcasting; the difference of equal infinities is NaN.", 2, 2,
                               OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Sub&) const = default;

  static constexpr Spelling spelling{.torch = "torch.sub", .onnx = "Sub", .jax = "jnp.subtract"};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto grid = grid_rules::added;
  static constexpr auto scaling = scaling_rules::as_all_inputs;
  static constexpr auto axis_relations = axis_rules::broadcast;
  static Magnitude magnitude(const MagnitudeOperands& x) {
    return {magnitude_rules::added(x).rms, x.all.finite, false};
  }
};

inline Result<Types> infer(const Sub&, TypeSpan inputs) { return broadcast_float_types(inputs); }

}  // namespace fusesmith::graph
