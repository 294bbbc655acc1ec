// LayerNorm over the last axis.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct LayerNorm {
  double eps = 1e-5;  // rounded to f32 before use

  static constexpr OpInfo info{"layer_norm",
                               "(x - mean) / sqrt(var + eps) * weight + bias over the last axis; a row with "
                               "NaN or an infinity is NaN; weight and bias are optional.",
                               1, 3, OpClass::reduction};
  static constexpr auto fields() { return std::tuple{Field{"eps", &LayerNorm::eps, RealRange{1e-12, 1}}}; }
  bool operator==(const LayerNorm&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = true;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::unit_of_both_signs;
  static constexpr auto grid = grid_rules::never;
  static constexpr auto scaling = scaling_rules::normalized;
  static constexpr auto axis_relations = axis_rules::last_axis_normalized;
};

// x [..., n], weight [n], bias [n], all of one float dtype -> [..., n].
inline Result<Types> infer(const LayerNorm&, TypeSpan inputs) {
  const TensorType& x = inputs[0];
  if (!is_float(x.dtype) || x.rank() < 1)
    return expected("a float tensor of rank 1 or more, got " + to_string(x));
  const TensorType affine{x.dtype, {x.shape.back()}};
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i] != affine)
      return expected("weight and bias " + to_string(affine) + ", got " + to_string(inputs[i]));
  }
  return one(x);
}

}  // namespace fusesmith::graph
