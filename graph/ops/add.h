// a + b, broadcasting.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Add {
  static constexpr OpInfo info{"add", "a + b, broadcasting; infinities of both signs make NaN.", 2, 2,
                               OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Add&) const = default;
};

inline Result<Types> infer(const Add&, TypeSpan inputs) { return broadcast_float_types(inputs); }

}  // namespace fusesmith::graph
