// Logarithms of sums of exponentials along axes.
#pragma once

#include <cmath>

#include "graph/ops/reduction.h"

namespace fusesmith::graph {

struct LogSumExp {
  Shape axes;
  bool keepdims = false;

  static constexpr OpInfo info{"logsumexp",
                               "max + log(sum exp(x - max)) over the axes; NaN if an element is NaN, "
                               "otherwise inf if one is inf, and -inf if all are -inf.",
                               1, 1, OpClass::reduction};
  static constexpr auto fields() {
    return std::tuple{Field{"axes", &LogSumExp::axes, kAxes, true},
                      Field{"keepdims", &LogSumExp::keepdims, kKeepdims}};
  }
  bool operator==(const LogSumExp&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = true;
  static constexpr auto work = work_rules::per_input_element;
  static constexpr auto grid = grid_rules::never;
  static constexpr auto scaling = scaling_rules::unscaled;
  // The maximum of n normal values and at most log n more, roughly.
  static Magnitude magnitude(const MagnitudeOperands& x) {
    return {3 * x.all.rms + 0.7 * std::ilogb(x.terms), x.all.finite, false};
  }
  void axis_relations(AxisRelations& all) const { axis_rules::reduced(all, axes, keepdims); }
};

inline Result<Types> infer(const LogSumExp& op, TypeSpan inputs) {
  return infer_reduction(op.axes, op.keepdims, inputs);
}

}  // namespace fusesmith::graph
