// a / b, broadcasting; x/0 is an infinity, 0/0 is NaN.
#pragma once

#include <algorithm>

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Div {
  static constexpr OpInfo info{"div", "a / b, broadcasting; x/0 is an infinity, 0/0 and inf/inf are NaN.", 2,
                               2, OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Div&) const = default;

  static constexpr Spelling spelling{.torch = "torch.div", .onnx = "Div", .jax = "jnp.divide"};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto axis_relations = axis_rules::broadcast;
  static Magnitude magnitude(const MagnitudeOperands& x) {
    return {x.in[0].rms / std::max(x.in[1].rms, 0.01), x.all.finite && x.in[1].one_signed, x.all.one_signed};
  }
  static std::optional<Grid> grid(const GridOperands& x) {
    const Grid &a = x.in[0], &b = x.in[1];
    if (!b.constant || !grid_rules::is_power_of_two(b.largest)) return std::nullopt;
    return Grid{a.step - b.step, a.largest / b.largest};
  }
  static OutputForms scaling(ScalingNode& node) { return {combined(node.in(0), -1, node.in(1))}; }
};

inline Result<Types> infer(const Div&, TypeSpan inputs) { return broadcast_float_types(inputs); }

}  // namespace fusesmith::graph
