// The gradients of layer_norm.
#pragma once

#include "graph/formula.h"
#include "graph/op_fields.h"

namespace fusesmith::graph {

struct LayerNormBackward {
  double eps = 1e-5;

  static constexpr OpInfo info{
      "layer_norm_backward",
      "The gradients of layer_norm for x [..., n], weight [n] and bias [n], of dy [..., n], x and weight.", 3,
      3, OpClass::composite};
  static constexpr auto fields() {
    return std::tuple{Field{"eps", &LayerNormBackward::eps, RealRange{1e-12, 1}}};
  }
  bool operator==(const LayerNormBackward&) const = default;

  static constexpr Operand operands[] = {{"dy"}, {"x"}, {"weight", true}};
  static constexpr auto outputs = OutputCount::several;
  static constexpr bool inner_errors = true;
  Vars define(const Vars& in) const {
    const Var dy = in[0], x = in[1], weight = in[2];
    const Var centred = x - mean(x, -1), r = rsqrt(mean(centred * centred, -1) + eps);
    const Var normalised = centred * r, g = dy * weight;
    return {r * (g - mean(g, -1) - normalised * mean(g * normalised, -1)), sum_of_rows(dy * normalised),
            sum_of_rows(dy)};
  }
};

}  // namespace fusesmith::graph
