// Sums along axes.
#pragma once

#include "graph/ops/reduction.h"

namespace fusesmith::graph {

struct ReduceSum {
  Shape axes;
  bool keepdims = false;

  static constexpr OpInfo info{"reduce_sum",
                               "The sum over the axes; NaN of NaN, and of infinities of both signs.", 1, 1,
                               OpClass::reduction};
  static constexpr auto fields() {
    return std::tuple{Field{"axes", &ReduceSum::axes, kAxes, true},
                      Field{"keepdims", &ReduceSum::keepdims, kKeepdims}};
  }
  bool operator==(const ReduceSum&) const = default;
};

inline Result<Types> infer(const ReduceSum& op, TypeSpan inputs) {
  return infer_reduction(op.axes, op.keepdims, inputs);
}

}  // namespace fusesmith::graph
