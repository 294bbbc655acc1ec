// x tanh(log(1 + exp(x))).
#pragma once

#include "graph/formula.h"
#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Mish {
  static constexpr OpInfo info{"mish", "x * tanh(log(1 + exp(x))); mish(-inf) is NaN (-inf times 0).", 1, 1,
                               OpClass::composite};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Mish&) const = default;

  static constexpr Operand operands[] = {{"x"}};
  static constexpr Spelling spelling{.torch = "F.mish", .onnx = "Mish", .jax = "jax.nn.mish"};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  // With w = exp(x), tanh(log(1 + w)) = ((1 + w)^2 - 1) / ((1 + w)^2 + 1), which is 1 in f32 from x = 20 on.
  Vars define(const Vars& in) const {
    const Var x = in[0], w = exp(minimum(x, 20)), n = w * (w + 2);
    return {x * (n / (n + 2))};
  }
};

}  // namespace fusesmith::graph
