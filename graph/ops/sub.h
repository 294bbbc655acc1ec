// a - b, broadcasting.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Sub {
  static constexpr OpInfo info{"sub", "a - b, broadcasting; equal infinities make NaN.", 2, 2,
                               OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Sub&) const = default;
};

inline Result<Types> infer(const Sub&, TypeSpan inputs) { return broadcast_float_types(inputs); }

}  // namespace fusesmith::graph
