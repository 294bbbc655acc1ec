// The gradient of sigmoid.
#pragma once

#include "graph/formula.h"
#include "graph/op_fields.h"

namespace fusesmith::graph {

struct SigmoidBackward {
  static constexpr OpInfo info{"sigmoid_backward", "dy * (1 - y) * y, of dy and the result y of sigmoid.", 2,
                               2, OpClass::composite};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const SigmoidBackward&) const = default;

  static constexpr Operand operands[] = {{"dy"}, {"y"}};
  static constexpr Spelling spelling{.torch = "aten.sigmoid_backward"};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  Vars define(const Vars& in) const {
    const Var dy = in[0], y = in[1];
    return {dy * (1 - y) * y};
  }
};

}  // namespace fusesmith::graph
