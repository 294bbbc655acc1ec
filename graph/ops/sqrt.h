// Square root.
#pragma once

#include <cmath>

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Sqrt {
  static constexpr OpInfo info{"sqrt", "The square root; NaN for x < 0; -0 for -0; inf for inf.", 1, 1,
                               OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Sqrt&) const = default;

  static constexpr Spelling spelling{.torch = "torch.sqrt", .onnx = "Sqrt", .jax = "jnp.sqrt"};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto grid = grid_rules::never;
  static constexpr auto axis_relations = axis_rules::broadcast;
  static Magnitude magnitude(const MagnitudeOperands& x) {
    return {std::sqrt(x.all.rms), x.all.finite && x.all.one_signed, true};
  }
  static OutputForms scaling(ScalingNode& node) { return {combined(node.none(), 0.5, node.in(0))}; }
};

inline Result<Types> infer(const Sqrt&, TypeSpan inputs) { return same_float_type(inputs); }

}  // namespace fusesmith::graph
