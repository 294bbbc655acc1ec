// Hyperbolic tangent.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Tanh {
  static constexpr OpInfo info{"tanh", "tanh(x); +-inf gives +-1.", 1, 1, OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Tanh&) const = default;
};

inline Result<Types> infer(const Tanh&, TypeSpan inputs) { return same_float_type(inputs); }

}  // namespace fusesmith::graph
