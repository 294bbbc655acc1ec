// The gradients of rms_norm.
#pragma once

#include "graph/formula.h"
#include "graph/op_fields.h"

namespace fusesmith::graph {

struct RmsNormBackward {
  double eps = 1e-6;

  static constexpr OpInfo info{"rms_norm_backward",
                               "The gradients of rms_norm for x [..., n] and weight [n], of dy [..., n], x "
                               "and weight; in a row with NaN or an infinity in x, dx is NaN.",
                               3, 3, OpClass::composite};
  static constexpr auto fields() {
    return std::tuple{Field{"eps", &RmsNormBackward::eps, RealRange{1e-12, 1}}};
  }
  bool operator==(const RmsNormBackward&) const = default;

  static constexpr Operand operands[] = {{"dy"}, {"x"}, {"weight", true}};
  static constexpr auto outputs = OutputCount::several;
  static constexpr bool inner_errors = true;
  // With s = mean(x^2) + eps and r = 1 / sqrt(s), the projection r^2 x mean(g x) is x (mean(g x) / s): the
  // error of r enters dx once, as a factor, and not the difference, which cancels where g is nearly a
  // multiple of x.
  Vars define(const Vars& in) const {
    const Var dy = in[0], x = in[1], weight = in[2];
    const Var s = mean(x * x, -1) + eps, r = rsqrt(s), g = dy * weight;
    return {r * (g - x * (mean(g * x, -1) / s)), sum_of_rows(dy * (x * r))};
  }
};

}  // namespace fusesmith::graph
