// The larger of two elements.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Maximum {
  static constexpr OpInfo info{
      "maximum", "The larger of a and b, broadcasting; NaN if either is NaN; +0 is larger than -0.", 2, 2,
      OpClass::select};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Maximum&) const = default;

  static constexpr Spelling spelling{.torch = "torch.maximum", .onnx = "Max", .jax = "jnp.maximum"};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto grid = grid_rules::of_all_inputs;
  static constexpr auto scaling = scaling_rules::as_all_inputs;
  static constexpr auto axis_relations = axis_rules::broadcast;
};

inline Result<Types> infer(const Maximum&, TypeSpan inputs) { return broadcast_float_types(inputs); }

}  // namespace fusesmith::graph
