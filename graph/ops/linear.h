// x W^T + bias, as a framework's linear layer.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Linear {
  static constexpr OpInfo info{"linear",
                               "x W^T + bias, rounded once; bias is optional; f32 of quantized floats; an "
                               "infinity times 0 is NaN.",
                               2, 3, OpClass::product};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Linear&) const = default;

  static constexpr Spelling spelling{.torch = "F.linear"};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto magnitude = magnitude_rules::sum_of_products;
  static constexpr auto grid = grid_rules::sum_of_products;
  static constexpr auto scaling = scaling_rules::product;
  static Work work(TypeSpan inputs, const TensorType& output) {
    return {element_count(output) * inputs[0].shape.back(), element_count(output)};
  }
  static void axis_relations(AxisRelations& axes) {
    const int last = axes.rank(0) - 1;
    for (int axis = 0; axis < last; ++axis) axes.become_row(0, axis, axis);
    axes.fix(0, last);
    axes.fix(1, 1);
    for (size_t i = 1; i < axes.inputs(); ++i) axes.become_row(i, 0, last);
  }
};

// x [..., in], weight [out, in], bias [out], all of one float dtype -> [..., out]. Quantized floats x and
// weight give f32, and have a bias of f32.
inline Result<Types> infer(const Linear&, TypeSpan inputs) {
  const TensorType& x = inputs[0];
  const TensorType& w = inputs[1];
  if (!(is_float(x.dtype) || is_quantized_float(x.dtype)) || x.rank() < 1)
    return expected("a float or quantized float x of rank 1 or more, got " + to_string(x));
  const auto dtype = product_dtype(x.dtype, w.dtype);
  if (!dtype || w.rank() != 2 || w.shape[1] != x.shape.back()) {
    return expected("a weight [out, " + std::to_string(x.shape.back()) + "] of x's dtype, got " +
                    to_string(w));
  }
  const TensorType bias{*dtype, {w.shape[0]}};
  if (inputs.size() == 3 && inputs[2] != bias) {
    return expected("a bias " + to_string(bias) + ", got " + to_string(inputs[2]));
  }
  TensorType y{*dtype, x.shape};
  y.shape.back() = w.shape[0];
  return one(y);
}

}  // namespace fusesmith::graph
