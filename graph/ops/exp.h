// Exponential.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Exp {
  static constexpr OpInfo info{"exp", "e^x; -inf gives 0, what lies beyond the dtype inf.", 1, 1,
                               OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Exp&) const = default;
};

inline Result<Types> infer(const Exp&, TypeSpan inputs) { return same_float_type(inputs); }

}  // namespace fusesmith::graph
