// The larger of two elements.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Maximum {
  static constexpr OpInfo info{"maximum",
                               "The larger of a and b, broadcasting; NaN where either is; +0 is above -0.", 2,
                               2, OpClass::select};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Maximum&) const = default;
};

inline Result<Types> infer(const Maximum&, TypeSpan inputs) { return broadcast_float_types(inputs); }

}  // namespace fusesmith::graph
