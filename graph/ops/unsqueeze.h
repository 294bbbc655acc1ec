// A new axis of size 1.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Unsqueeze {
  int64_t axis = 0;

  static constexpr OpInfo info{"unsqueeze", "A new axis of size 1 at `axis` of the output.", 1, 1,
                               OpClass::movement};
  static constexpr auto fields() { return std::tuple{Field{"axis", &Unsqueeze::axis, Axis{true}, true}}; }
  bool operator==(const Unsqueeze&) const = default;
};

inline Result<Types> infer(const Unsqueeze& op, TypeSpan inputs) {
  const auto axis = resolve_axis(op.axis, inputs[0].rank() + 1);
  if (!axis) return Problem{axis.problem()};
  TensorType y = inputs[0];
  y.shape.insert(y.shape.begin() + *axis, 1);
  return one(y);
}

}  // namespace fusesmith::graph
