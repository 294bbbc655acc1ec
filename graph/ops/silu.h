// x * sigmoid(x).
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Silu {
  static constexpr OpInfo info{"silu", "x * sigmoid(x); -inf is NaN, being multiplied by 0.", 1, 1,
                               OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Silu&) const = default;
};

inline Result<Types> infer(const Silu&, TypeSpan inputs) { return same_float_type(inputs); }

}  // namespace fusesmith::graph
