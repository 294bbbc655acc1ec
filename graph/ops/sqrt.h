// Square root.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Sqrt {
  static constexpr OpInfo info{"sqrt", "The square root; NaN below 0, -0 stays -0, inf inf.", 1, 1,
                               OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Sqrt&) const = default;
};

inline Result<Types> infer(const Sqrt&, TypeSpan inputs) { return same_float_type(inputs); }

}  // namespace fusesmith::graph
