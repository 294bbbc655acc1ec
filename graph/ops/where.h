// Choice by a boolean tensor.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Where {
  static constexpr OpInfo info{"where",
                               "a where the condition is true, otherwise b; all three broadcast; elements "
                               "that are not selected have no effect, even if they are NaN.",
                               3, 3, OpClass::select};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Where&) const = default;

  static constexpr Spelling spelling{.torch = "torch.where", .onnx = "Where", .jax = "jnp.where"};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto scaling = scaling_rules::as_all_but_first;
  static constexpr auto axis_relations = axis_rules::broadcast;
  static std::optional<Grid> grid(const GridOperands& x) { return grid_rules::joined(x.in[1], x.in[2]); }
};

// condition bool, a and b of one float dtype.
inline Result<Types> infer(const Where&, TypeSpan inputs) {
  if (inputs[0].dtype != Dtype::boolean) return expected("a bool condition, got " + to_string(inputs[0]));
  auto values = broadcast_float_types(inputs.subspan(1));
  if (!values) return values;
  const auto shape = broadcast(inputs[0].shape, values->front().shape);
  if (!shape) return expected("a condition that broadcasts with " + to_string(values->front()));
  return one({values->front().dtype, *shape});
}

}  // namespace fusesmith::graph
