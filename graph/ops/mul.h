// a * b, broadcasting.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Mul {
  static constexpr OpInfo info{"mul", "a * b, broadcasting; an infinity times 0 is NaN.", 2, 2,
                               OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Mul&) const = default;
};

inline Result<Types> infer(const Mul&, TypeSpan inputs) { return broadcast_float_types(inputs); }

}  // namespace fusesmith::graph
