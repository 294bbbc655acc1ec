// Variance and mean along axes, as two outputs.
#pragma once

#include <algorithm>

#include "graph/ops/reduction.h"

namespace fusesmith::graph {

struct VarMean {
  Shape axes;
  int64_t correction = 1;
  bool keepdims = false;

  static constexpr OpInfo info{
      "var_mean",
      "Two outputs: the sum of squared differences from the mean / (count - correction), and the mean; both "
      "are NaN if an element is NaN; the variance is also NaN if one is infinite, and for 0 / 0.",
      1, 1, OpClass::reduction};
  static constexpr auto fields() {
    return std::tuple{Field{"axes", &VarMean::axes, kAxes, true},
                      Field{"correction", &VarMean::correction, IntRange{0, 1}},
                      Field{"keepdims", &VarMean::keepdims, kKeepdims}};
  }
  bool operator==(const VarMean&) const = default;

  static constexpr auto outputs = OutputCount::several;
  static constexpr SeveralOutputs several{.count = 2};
  static constexpr bool inner_errors = true;
  static constexpr auto work = work_rules::per_input_element;
  static constexpr auto grid = grid_rules::never;
  // Of both outputs: the larger.
  Magnitude magnitude(const MagnitudeOperands& x) const {
    const double rms = x.all.rms;
    return {std::max(rms, rms * rms), x.all.finite && x.terms > static_cast<double>(correction), false};
  }
  static OutputForms scaling(ScalingNode& node) { return {combined(node.in(0), 1, node.in(0)), node.in(0)}; }
  void axis_relations(AxisRelations& all) const { axis_rules::reduced(all, axes, keepdims); }
};

inline Result<Types> infer(const VarMean& op, TypeSpan inputs) {
  auto types = infer_reduction(op.axes, op.keepdims, inputs);
  if (types) types->push_back(types->front());
  return types;
}

}  // namespace fusesmith::graph
