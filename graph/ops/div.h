// a / b, broadcasting; x/0 is an infinity, 0/0 is NaN.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Div {
  static constexpr OpInfo info{"div", "a / b, broadcasting; x/0 is an infinity, 0/0 and inf/inf are NaN.", 2,
                               2, OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Div&) const = default;
};

inline Result<Types> infer(const Div&, TypeSpan inputs) { return broadcast_float_types(inputs); }

}  // namespace fusesmith::graph
