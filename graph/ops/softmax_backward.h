// The gradient of softmax, from its result.
#pragma once

#include "graph/formula.h"
#include "graph/op_fields.h"

namespace fusesmith::graph {

struct SoftmaxBackward {
  int64_t axis = -1;

  static constexpr OpInfo info{"softmax_backward", "y * (dy - sum(dy * y) along the axis), of dy and y.", 2,
                               2, OpClass::composite};
  static constexpr auto fields() { return std::tuple{Field{"axis", &SoftmaxBackward::axis, Axis{}}}; }
  bool operator==(const SoftmaxBackward&) const = default;

  static constexpr Operand operands[] = {{"dy"}, {"y"}};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = true;
  Vars define(const Vars& in) const {
    const Var dy = in[0], y = in[1];
    return {y * (dy - sum(dy * y, axis))};
  }
};

}  // namespace fusesmith::graph
