// softmax along one axis.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Softmax {
  int64_t axis = -1;

  static constexpr OpInfo info{"softmax",
                               "exp(x - max) / sum exp(x - max) along the axis; a row of -inf alone, or with "
                               "NaN or +inf, is NaN; -inf in any other is 0.",
                               1, 1, OpClass::reduction};
  static constexpr auto fields() { return std::tuple{Field{"axis", &Softmax::axis, Axis{}}}; }
  bool operator==(const Softmax&) const = default;
};

inline Result<Types> infer(const Softmax& op, TypeSpan inputs) {
  if (const auto axis = resolve_axis(op.axis, inputs[0].rank()); !axis) return Problem{axis.problem()};
  return same_float_type(inputs);
}

}  // namespace fusesmith::graph
