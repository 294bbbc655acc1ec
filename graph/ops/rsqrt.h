// Reciprocal square root.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Rsqrt {
  static constexpr OpInfo info{"rsqrt", "1 / sqrt(x); NaN below 0, +-0 gives +-inf, +inf gives 0.", 1, 1,
                               OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Rsqrt&) const = default;
};

inline Result<Types> infer(const Rsqrt&, TypeSpan inputs) { return same_float_type(inputs); }

}  // namespace fusesmith::graph
