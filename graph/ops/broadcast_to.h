// Axes of size 1 repeated, new leading axes added.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct BroadcastTo {
  Shape shape;

  static constexpr OpInfo info{"broadcast_to",
                               "x repeated along axes of size 1 and new leading axes (numpy's rules).", 1, 1,
                               OpClass::movement};
  static constexpr auto fields() {
    return std::tuple{Field{"shape", &BroadcastTo::shape, Free{"a shape that x broadcasts to"}, true}};
  }
  bool operator==(const BroadcastTo&) const = default;
};

inline Result<Types> infer(const BroadcastTo& op, TypeSpan inputs) {
  const auto shape = broadcast(inputs[0].shape, op.shape);
  if (!shape || *shape != op.shape) {
    return expected("a shape that " + to_string(inputs[0]) + " broadcasts to, got " + to_string(op.shape));
  }
  return one({inputs[0].dtype, op.shape});
}

}  // namespace fusesmith::graph
