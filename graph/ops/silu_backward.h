// The gradient of silu.
#pragma once

#include "graph/formula.h"
#include "graph/op_fields.h"

namespace fusesmith::graph {

struct SiluBackward {
  static constexpr OpInfo info{"silu_backward",
                               "dy * s * (1 + x * (1 - s)) with s = sigmoid(x), of dy and x.", 2, 2,
                               OpClass::composite};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const SiluBackward&) const = default;

  static constexpr Operand operands[] = {{"dy"}, {"x"}};
  static constexpr Spelling spelling{.torch = "aten.silu_backward"};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  Vars define(const Vars& in) const {
    const Var dy = in[0], x = in[1], s = sigmoid(x);
    return {dy * (s * (1 + x * (1 - s)))};
  }
};

}  // namespace fusesmith::graph
