// max(x, 0); NaN stays NaN.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Relu {
  static constexpr OpInfo info{"relu", "max(x, 0); NaN stays NaN.", 1, 1, OpClass::select};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Relu&) const = default;

  static constexpr Spelling spelling{.torch = "F.relu", .onnx = "Relu"};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto grid = grid_rules::of_all_inputs;
  static constexpr auto scaling = scaling_rules::as_first_input;
  static constexpr auto axis_relations = axis_rules::broadcast;
  static Magnitude magnitude(const MagnitudeOperands& x) { return {x.all.rms, x.all.finite, true}; }
};

inline Result<Types> infer(const Relu&, TypeSpan inputs) { return same_float_type(inputs); }

}  // namespace fusesmith::graph
