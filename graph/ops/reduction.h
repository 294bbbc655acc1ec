// What the reductions share: a list of axes, and whether these stay as axes of size 1.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

inline constexpr Free kAxes{"axes, each once; negative ones count from the end"};
inline constexpr Free kKeepdims{"reduced axes stay, with size 1"};

// The axes resolved, in ascending order. Errors: none, one out of range, one twice.
Result<std::vector<int>> resolve_axes(const Shape& axes, int rank);

// x [...] float -> the shape without the axes, or with 1 in their places.
Result<Types> infer_reduction(const Shape& axes, bool keepdims, TypeSpan inputs);

}  // namespace fusesmith::graph
