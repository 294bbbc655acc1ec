// Means along axes.
#pragma once

#include "graph/ops/reduction.h"

namespace fusesmith::graph {

struct ReduceMean {
  Shape axes;
  bool keepdims = false;

  static constexpr OpInfo info{
      "reduce_mean", "The mean over the axes, sum / count; NaN of NaN, and of infinities of both signs.", 1,
      1, OpClass::reduction};
  static constexpr auto fields() {
    return std::tuple{Field{"axes", &ReduceMean::axes, kAxes, true},
                      Field{"keepdims", &ReduceMean::keepdims, kKeepdims}};
  }
  bool operator==(const ReduceMean&) const = default;
};

inline Result<Types> infer(const ReduceMean& op, TypeSpan inputs) {
  return infer_reduction(op.axes, op.keepdims, inputs);
}

}  // namespace fusesmith::graph
