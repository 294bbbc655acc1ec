// Means along axes.
#pragma once

#include <cmath>

#include "graph/ops/reduction.h"

namespace fusesmith::graph {

struct ReduceMean {
  Shape axes;
  bool keepdims = false;

  static constexpr OpInfo info{"reduce_mean",
                               "The mean over the axes, sum / count; NaN if an element is NaN or if there "
                               "are infinities of both signs.",
                               1, 1, OpClass::reduction};
  static constexpr auto fields() {
    return std::tuple{Field{"axes", &ReduceMean::axes, kAxes, true},
                      Field{"keepdims", &ReduceMean::keepdims, kKeepdims}};
  }
  bool operator==(const ReduceMean&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_input_element;
  static constexpr auto scaling = scaling_rules::as_first_input;
  static Magnitude magnitude(const MagnitudeOperands& x) {
    return magnitude_rules::scaled(x, x.all.one_signed ? 1 : 1 / std::sqrt(x.terms));
  }
  static std::optional<Grid> grid(const GridOperands& x) {
    if (!grid_rules::sum_of_terms(x) || !grid_rules::is_power_of_two(x.terms)) return std::nullopt;
    return Grid{x.in[0].step - std::ilogb(x.terms), x.in[0].largest};
  }
  void axis_relations(AxisRelations& all) const { axis_rules::reduced(all, axes, keepdims); }
};

inline Result<Types> infer(const ReduceMean& op, TypeSpan inputs) {
  return infer_reduction(op.axes, op.keepdims, inputs);
}

}  // namespace fusesmith::graph
