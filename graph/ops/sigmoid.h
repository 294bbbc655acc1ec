// 1 / (1 + exp(-x)).
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Sigmoid {
  static constexpr OpInfo info{"sigmoid", "1 / (1 + exp(-x)); -inf gives 0, inf 1.", 1, 1,
                               OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Sigmoid&) const = default;
};

inline Result<Types> infer(const Sigmoid&, TypeSpan inputs) { return same_float_type(inputs); }

}  // namespace fusesmith::graph
