// Device code that iterates over an IndexSpace.
#pragma once

#include "backends/cuda/kernels/index_space.h"

namespace fusesmith::backends::device {

// Calls visit(axis, coordinate) for every axis of element i, innermost first.
template <class F>
__device__ void for_each_axis(const IndexSpace& space, int i, F visit) {
  unsigned rest = static_cast<unsigned>(i);
#pragma unroll
  for (int axis = kMaxAxes - 1; axis >= 0; --axis) {
    if (axis >= space.rank) continue;
    const unsigned size = static_cast<unsigned>(space.sizes[axis]);
    const unsigned next = axis > 0 ? rest / size : 0;
    visit(axis, static_cast<int>(rest - next * size));
    rest = next;
  }
}

}  // namespace fusesmith::backends::device
