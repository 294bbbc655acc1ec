// Exponential.
#pragma once

#include <algorithm>
#include <cmath>

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Exp {
  static constexpr OpInfo info{"exp", "e^x; exp(-inf) is 0; results beyond the range of the dtype are inf.",
                               1, 1, OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Exp&) const = default;

  static constexpr Spelling spelling{.torch = "torch.exp", .onnx = "Exp", .jax = "jnp.exp"};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto grid = grid_rules::never;
  static constexpr auto scaling = scaling_rules::unscaled;
  static constexpr auto axis_relations = axis_rules::broadcast;
  // Of e^x for normal x of this size: e^(rms^2), as a power of two near it. Beyond 3, some overflow f16.
  static Magnitude magnitude(const MagnitudeOperands& x) {
    const double rms = x.all.rms;
    return {std::ldexp(1.0, static_cast<int>(std::min(1.5 * rms * rms, 100.0))), x.all.finite && rms < 3,
            true};
  }
};

inline Result<Types> infer(const Exp&, TypeSpan inputs) { return same_float_type(inputs); }

}  // namespace fusesmith::graph
