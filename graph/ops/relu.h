// max(x, 0); NaN stays NaN.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Relu {
  static constexpr OpInfo info{"relu", "max(x, 0); NaN stays NaN.", 1, 1, OpClass::select};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Relu&) const = default;
};

inline Result<Types> infer(const Relu&, TypeSpan inputs) { return same_float_type(inputs); }

}  // namespace fusesmith::graph
