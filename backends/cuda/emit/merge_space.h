// Index spaces for kernels, made from shapes and strides of the graph.
#pragma once

#include <cstdlib>

#include "backends/common/strided.h"
#include "backends/cuda/kernels/index_space.h"
#include "graph/result.h"

namespace fusesmith::backends {

// The index space of `sizes` with as few axes as possible: neighbours that every operand reads as one axis
// are merged, in `strides` too.
inline IndexSpace merge_space(Shape sizes, std::span<Shape> strides) {
  check(element_count(sizes) <= kMaxElements, "merge_space: too many elements");
  merge_axes(sizes, strides);
  check(sizes.size() <= size_t{kMaxAxes}, "merge_space: too many axes");
  IndexSpace space{};
  space.rank = static_cast<int>(sizes.size());
  space.count = static_cast<int>(element_count(sizes));
  for (size_t i = 0; i < sizes.size(); ++i) space.sizes[i] = static_cast<int>(sizes[i]);
  return space;
}

// Copies the strides of a merged space; they are negative along axes that are read backwards. They fit into
// int, because every merged axis has at least 2 elements and its stride stays inside its tensor.
inline void copy_strides(const Shape& strides, int (&to)[kMaxAxes]) {
  for (size_t i = 0; i < strides.size(); ++i) {
    check(std::abs(strides[i]) <= kMaxElements, "copy_strides: a stride leaves its tensor");
    to[i] = static_cast<int>(strides[i]);
  }
}

// Whether an operand with these merged strides is contiguous.
inline bool is_contiguous(const IndexSpace& space, const Shape& strides) {
  int64_t step = 1;
  for (int axis = space.rank - 1; axis >= 0; --axis) {
    if (strides[static_cast<size_t>(axis)] != step) return false;
    step *= space.sizes[axis];
  }
  return true;
}

}  // namespace fusesmith::backends
