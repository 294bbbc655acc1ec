// The gradient of log_softmax.
#pragma once

#include "graph/formula.h"
#include "graph/op_fields.h"

namespace fusesmith::graph {

struct LogSoftmaxBackward {
  int64_t axis = -1;

  static constexpr OpInfo info{"log_softmax_backward",
                               "dy - exp(y) * sum(dy) along an axis, of dy and the result y of log_softmax.",
                               2, 2, OpClass::composite};
  static constexpr auto fields() { return std::tuple{Field{"axis", &LogSoftmaxBackward::axis, Axis{}}}; }
  bool operator==(const LogSoftmaxBackward&) const = default;

  static constexpr Operand operands[] = {{"dy"}, {"y"}};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = true;
  Vars define(const Vars& in) const {
    const Var dy = in[0], y = in[1];
    return {dy - exp(y) * sum(dy, axis)};
  }
};

}  // namespace fusesmith::graph
