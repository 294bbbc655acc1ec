// Variance and mean along axes, as two outputs.
#pragma once

#include "graph/ops/reduction.h"

namespace fusesmith::graph {

struct VarMean {
  Shape axes;
  int64_t correction = 1;
  bool keepdims = false;

  static constexpr OpInfo info{
      "var_mean",
      "Two outputs: sum of squared differences from the mean / (count - correction), "
      "and the mean; NaN of NaN; the variance of infinities, and 0 / 0, is NaN.",
      1, 1, OpClass::reduction};
  static constexpr auto fields() {
    return std::tuple{Field{"axes", &VarMean::axes, kAxes, true},
                      Field{"correction", &VarMean::correction, IntRange{0, 1}},
                      Field{"keepdims", &VarMean::keepdims, kKeepdims}};
  }
  bool operator==(const VarMean&) const = default;
};

inline Result<Types> infer(const VarMean& op, TypeSpan inputs) {
  auto types = infer_reduction(op.axes, op.keepdims, inputs);
  if (types) types->push_back(types->front());
  return types;
}

}  // namespace fusesmith::graph
