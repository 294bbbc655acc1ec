// Natural logarithm.
#pragma once

#include <cmath>

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Log {
  static constexpr OpInfo info{"log", "The natural logarithm; NaN for x < 0; -inf for 0 and -0; inf for inf.",
                               1, 1, OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Log&) const = default;

  static constexpr Spelling spelling{.torch = "torch.log", .onnx = "Log", .jax = "jnp.log"};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto grid = grid_rules::never;
  static constexpr auto scaling = scaling_rules::unscaled;
  static constexpr auto axis_relations = axis_rules::broadcast;
  static Magnitude magnitude(const MagnitudeOperands& x) {
    return {std::fabs(std::log(std::fmax(x.all.rms, 0x1p-149))) + 1, x.all.finite && x.all.one_signed, false};
  }
};

inline Result<Types> infer(const Log&, TypeSpan inputs) { return same_float_type(inputs); }

}  // namespace fusesmith::graph
