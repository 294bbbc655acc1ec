// Maxima along axes.
#pragma once

#include "graph/ops/reduction.h"

namespace fusesmith::graph {

struct ReduceMax {
  Shape axes;
  bool keepdims = false;

  static constexpr OpInfo info{"reduce_max",
                               "The largest element over the axes; NaN if one is NaN; +0 is larger than -0.",
                               1, 1, OpClass::reduction};
  static constexpr auto fields() {
    return std::tuple{Field{"axes", &ReduceMax::axes, kAxes, true},
                      Field{"keepdims", &ReduceMax::keepdims, kKeepdims}};
  }
  bool operator==(const ReduceMax&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_input_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto grid = grid_rules::of_all_inputs;
  static constexpr auto scaling = scaling_rules::as_first_input;
  void axis_relations(AxisRelations& all) const { axis_rules::reduced(all, axes, keepdims); }
};

inline Result<Types> infer(const ReduceMax& op, TypeSpan inputs) {
  return infer_reduction(op.axes, op.keepdims, inputs);
}

}  // namespace fusesmith::graph
