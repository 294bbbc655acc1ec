// An explicit conversion: its rounding may never be skipped.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Cast {
  Dtype dtype = Dtype::f32;

  static constexpr OpInfo info{
      "cast", "x rounded to the float dtype, to nearest even; values beyond its range become infinities.", 1,
      1, OpClass::pointwise};
  static constexpr auto fields() {
    return std::tuple{Field{"dtype", &Cast::dtype, Free{"f32, f16 or bf16"}, true}};
  }
  bool operator==(const Cast&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto grid = grid_rules::of_all_inputs;
  static constexpr auto scaling = scaling_rules::as_first_input;
  static constexpr auto axis_relations = axis_rules::broadcast;
};

inline Result<Types> infer(const Cast& op, TypeSpan inputs) {
  if (!is_float(op.dtype)) return expected("dtype f32, f16 or bf16, got " + std::string(name(op.dtype)));
  return one({op.dtype, inputs[0].shape});
}

}  // namespace fusesmith::graph
