#include "graph/ops/reduction.h"

#include <algorithm>

namespace fusesmith::graph {

Result<std::vector<int>> resolve_axes(const Shape& axes, int rank) {
  std::vector<int> resolved;
  if (axes.empty()) return expected("at least one axis");
  for (int64_t axis : axes) {
    const auto at = resolve_axis(axis, rank);
    if (!at) return Problem{at.problem()};
    resolved.push_back(*at);
  }
  std::sort(resolved.begin(), resolved.end());
  if (std::adjacent_find(resolved.begin(), resolved.end()) != resolved.end())
    return expected("every axis once, got " + to_string(axes));
  return resolved;
}

Result<Types> infer_reduction(const Shape& axes, bool keepdims, TypeSpan inputs) {
  const auto resolved = resolve_axes(axes, inputs[0].rank());
  if (!resolved) return Problem{resolved.problem()};
  auto types = same_float_type(inputs);
  if (!types) return types;
  Shape& shape = types->front().shape;
  for (auto axis = resolved->rbegin(); axis != resolved->rend(); ++axis) {
    if (keepdims)
      shape[static_cast<size_t>(*axis)] = 1;
    else
      shape.erase(shape.begin() + *axis);
  }
  return types;
}

}  // namespace fusesmith::graph
