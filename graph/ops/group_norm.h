// GroupNorm (Wu and He 2018).
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct GroupNorm {
  int64_t groups = 1;
  double eps = 1e-5;  // rounded to f32 before use

  static constexpr OpInfo info{
      "group_norm",
      "(x - mean) / sqrt(var + eps) * weight + bias, with statistics over each group of channels (axis 1) "
      "and all later axes; a group with NaN or an infinity is NaN; weight and bias are optional.",
      1, 3, OpClass::reduction};
  static constexpr auto fields() {
    return std::tuple{Field{"groups", &GroupNorm::groups, IntRange{1, 1 << 16}, true},
                      Field{"eps", &GroupNorm::eps, RealRange{1e-12, 1}}};
  }
  bool operator==(const GroupNorm&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = true;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::unit_of_both_signs;
  static constexpr auto grid = grid_rules::never;
  static constexpr auto scaling = scaling_rules::normalized;
  static void axis_relations(AxisRelations& axes) { axis_rules::normalized(axes, 1); }
};

// x [n, c, ...], weight [c], bias [c], all of one float dtype -> the type of x; groups divides c.
inline Result<Types> infer(const GroupNorm& op, TypeSpan inputs) {
  const TensorType& x = inputs[0];
  if (!is_float(x.dtype) || x.rank() < 2)
    return expected("a float tensor of rank 2 or more, got " + to_string(x));
  if (x.shape[1] % op.groups != 0)
    return expected("groups that divide " + std::to_string(x.shape[1]) + " channels, got " +
                    std::to_string(op.groups));
  const TensorType affine{x.dtype, {x.shape[1]}};
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i] != affine)
      return expected("weight and bias " + to_string(affine) + ", got " + to_string(inputs[i]));
  }
  return one(x);
}

}  // namespace fusesmith::graph
