// Sums along axes.
#pragma once

#include "graph/ops/reduction.h"

namespace fusesmith::graph {

struct ReduceSum {
  Shape axes;
  bool keepdims = false;

  static constexpr OpInfo info{
      "reduce_sum",
      "The sum over the axes; NaN if an element is NaN or if there are infinities of both signs.", 1, 1,
      OpClass::reduction};
  static constexpr auto fields() {
    return std::tuple{Field{"axes", &ReduceSum::axes, kAxes, true},
                      Field{"keepdims", &ReduceSum::keepdims, kKeepdims}};
  }
  bool operator==(const ReduceSum&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_input_element;
  static constexpr auto magnitude = magnitude_rules::sum_of_terms;
  static constexpr auto grid = grid_rules::sum_of_terms;
  static constexpr auto scaling = scaling_rules::as_first_input;
  void axis_relations(AxisRelations& all) const { axis_rules::reduced(all, axes, keepdims); }
};

inline Result<Types> infer(const ReduceSum& op, TypeSpan inputs) {
  return infer_reduction(op.axes, op.keepdims, inputs);
}

}  // namespace fusesmith::graph
