// The gradient of gelu.
#pragma once

#include <numbers>

#include "graph/formula.h"
#include "graph/op_fields.h"
#include "graph/ops/gelu.h"

namespace fusesmith::graph {

struct GeluBackward {
  Gelu::Form form = Gelu::Form::erf;

  static constexpr OpInfo info{"gelu_backward", "The gradient of gelu, of dy and x; NaN where x is infinite.",
                               2, 2, OpClass::composite};
  static constexpr auto fields() {
    return std::tuple{Field{"form", &GeluBackward::form, AnyOf{Gelu::kForms}}};
  }
  bool operator==(const GeluBackward&) const = default;

  static constexpr Operand operands[] = {{"dy"}, {"x"}};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  Vars define(const Vars& in) const {
    using std::numbers::sqrt2, std::numbers::inv_sqrtpi;
    const Var dy = in[0], x = in[1];
    if (form == Gelu::Form::erf) {
      const Var share = (1 + erf(x * (1 / sqrt2))) * 0.5;
      const Var density = exp(x * x * -0.5) * (inv_sqrtpi / sqrt2);
      return {dy * (share + x * density)};
    }
    constexpr double beta = sqrt2 * inv_sqrtpi, kappa = 0.044715;
    const Var square = x * x, t = tanh((x + square * x * kappa) * beta);
    const Var slope = (1 + square * (3 * kappa)) * beta;
    return {dy * ((1 + t) * 0.5 + x * 0.5 * (1 - t * t) * slope)};
  }
};

}  // namespace fusesmith::graph
