// Reciprocal square root.
#pragma once

#include <algorithm>
#include <cmath>

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Rsqrt {
  static constexpr OpInfo info{"rsqrt", "1 / sqrt(x); NaN for x < 0; +-inf for +-0; 0 for +inf.", 1, 1,
                               OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Rsqrt&) const = default;

  static constexpr Spelling spelling{.torch = "torch.rsqrt", .jax = "lax.rsqrt"};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto grid = grid_rules::never;
  static constexpr auto scaling = scaling_rules::unscaled;
  static constexpr auto axis_relations = axis_rules::broadcast;
  static Magnitude magnitude(const MagnitudeOperands& x) {
    return {1 / std::sqrt(std::max(x.all.rms, 1e-4)), x.all.finite && x.all.one_signed, true};
  }
};

inline Result<Types> infer(const Rsqrt&, TypeSpan inputs) { return same_float_type(inputs); }

}  // namespace fusesmith::graph
