// RMSNorm over the last axis (Zhang and Sennrich 2019).
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct RmsNorm {
  double eps = 1e-6;  // rounded to f32 before use

  static constexpr OpInfo info{
      "rms_norm",
      "x / sqrt(mean(x^2) + eps) * weight over the last axis; a row with NaN is NaN; in a row with an "
      "infinity, finite elements are 0 and infinite ones NaN; weight is optional.",
      1, 2, OpClass::reduction};
  static constexpr auto fields() { return std::tuple{Field{"eps", &RmsNorm::eps, RealRange{1e-12, 1}}}; }
  bool operator==(const RmsNorm&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = true;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::unit_of_same_sign;
  static constexpr auto grid = grid_rules::never;
  static constexpr auto scaling = scaling_rules::normalized;
  static constexpr auto axis_relations = axis_rules::last_axis_normalized;
};

// x [..., n], weight [n], of one float dtype -> [..., n].
inline Result<Types> infer(const RmsNorm&, TypeSpan inputs) {
  const TensorType& x = inputs[0];
  if (!is_float(x.dtype) || x.rank() < 1)
    return expected("a float tensor of rank 1 or more, got " + to_string(x));
  const TensorType weight{x.dtype, {x.shape.back()}};
  if (inputs.size() > 1 && inputs[1] != weight)
    return expected("a weight " + to_string(weight) + ", got " + to_string(inputs[1]));
  return one(x);
}

}  // namespace fusesmith::graph
