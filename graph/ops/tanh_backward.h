// The gradient of tanh.
#pragma once

#include "graph/formula.h"
#include "graph/op_fields.h"

namespace fusesmith::graph {

struct TanhBackward {
  static constexpr OpInfo info{"tanh_backward", "dy * (1 - y * y), of dy and the result y of tanh.", 2, 2,
                               OpClass::composite};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const TanhBackward&) const = default;

  static constexpr Operand operands[] = {{"dy"}, {"y"}};
  static constexpr Spelling spelling{.torch = "aten.tanh_backward"};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  Vars define(const Vars& in) const {
    const Var dy = in[0], y = in[1];
    return {dy * (1 - y * y)};
  }
};

}  // namespace fusesmith::graph
