// x times a clamped line, which approximates silu.
#pragma once

#include "graph/formula.h"
#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Hardswish {
  static constexpr OpInfo info{
      "hardswish", "x * min(max(x + 3, 0), 6) / 6; inf where 6 x overflows, NaN for -inf (-inf times 0).", 1,
      1, OpClass::composite};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Hardswish&) const = default;

  static constexpr Operand operands[] = {{"x"}};
  // JAX divides before it multiplies with x, and ONNX's HardSwish is x * max(0, min(1, x / 6 + 0.5)), which
  // loses more near -3. Results of both may be outside the bound of this form.
  static constexpr Spelling spelling{.torch = "F.hardswish"};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  Vars define(const Vars& in) const {
    const Var x = in[0];
    return {x * minimum(maximum(x + 3, 0), 6) / 6};
  }
};

}  // namespace fusesmith::graph
