// A constant written where a mask is set.
#pragma once

#include <cmath>

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct MaskedFill {
  double value = 0;       // rounded to the dtype of x; may be an infinity
  bool inverted = false;  // write where the mask is false instead

  static constexpr OpInfo info{"masked_fill",
                               "x, with `value` where the bool mask is true (false if inverted); the mask "
                               "broadcasts to x; replaced elements have no effect, even if they are NaN.",
                               2, 2, OpClass::select};
  static constexpr auto fields() {
    return std::tuple{Field{"value", &MaskedFill::value, Free{"or \"inf\", \"-inf\""}, true},
                      Field{"inverted", &MaskedFill::inverted, Free{"write where the mask is false"}}};
  }
  bool operator==(const MaskedFill&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto axis_relations = axis_rules::broadcast;
  Magnitude magnitude(const MagnitudeOperands& x) const {
    return {x.all.rms, x.all.finite && std::isfinite(value), false};
  }
  std::optional<Grid> grid(const GridOperands& x) const {
    if (!std::isfinite(value)) return std::nullopt;
    return grid_rules::joined(x.in[0], grid_rules::around(round_to(x.dtype, value)));
  }
  OutputForms scaling(ScalingNode& node) const {
    if (value == 0 || std::isinf(value)) return {node.in(0)};
    node.equal(node.in(0), node.none());
    return {node.none()};
  }
};

// x float, mask bool -> the type of x.
inline Result<Types> infer(const MaskedFill& op, TypeSpan inputs) {
  if (op.value != op.value) return expected("a value that is not NaN");
  if (inputs[1].dtype != Dtype::boolean) return expected("a bool mask, got " + to_string(inputs[1]));
  const auto shape = broadcast(inputs[0].shape, inputs[1].shape);
  if (!shape || *shape != inputs[0].shape) {
    return expected("a mask that broadcasts to " + to_string(inputs[0]) + ", got " + to_string(inputs[1]));
  }
  return same_float_type(inputs);
}

}  // namespace fusesmith::graph
