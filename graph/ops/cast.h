// An explicit conversion: its rounding may never be skipped.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Cast {
  Dtype dtype = Dtype::f32;
  Overflow overflow = Overflow::special;
  Rounding rounding = Rounding::nearest;

  static constexpr OpInfo info{
      "cast",
      "x rounded to the float or quantized dtype; the nearest number is the even one at ties. Values beyond "
      "its range become infinities, or NaN where the dtype has none; f4e2m1, s8 and s4, which have neither, "
      "saturate. Anything may become of NaN in these, and of numbers up to 0 in f8e8m0.",
      1, 1, OpClass::pointwise};
  static constexpr auto fields() {
    return std::tuple{Field{"dtype", &Cast::dtype, Free{"a float or quantized dtype"}, true},
                      Field{"overflow", &Cast::overflow, AnyOf{kOverflows}},
                      Field{"rounding", &Cast::rounding, AnyOf{kRoundings}}};
  }
  bool operator==(const Cast&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto axis_relations = axis_rules::broadcast;
  // Numbers that the dtype holds; others are no numbers of a grid.
  static constexpr auto grid = grid_rules::of_all_inputs;
  OutputForms scaling(ScalingNode& node) const {
    return is_quantized(dtype) ? scaling_rules::unscaled(node) : scaling_rules::as_first_input(node);
  }

  RoundTo rounds() const { return {dtype, overflow, rounding}; }
  // As PyTorch, NumPy and JAX convert to a float dtype.
  bool is_plain() const { return !is_quantized(dtype) && rounds() == RoundTo{dtype}; }
};

inline Result<Types> infer(const Cast& op, TypeSpan inputs) {
  if (!is_rounded(op.dtype))
    return expected("a float or quantized dtype, got " + std::string(name(op.dtype)));
  if (!is_quantized(op.dtype) && !op.is_plain())
    return expected("overflow \"special\" and rounding \"nearest\" for " + std::string(name(op.dtype)));
  return one({op.dtype, inputs[0].shape});
}

}  // namespace fusesmith::graph
