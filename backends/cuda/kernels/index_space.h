// The elements that a kernel walks over, in row-major order, as kernels see them. C++17 without graph
// headers.
#pragma once

#include "backends/cuda/kernels/storage.h"

namespace fusesmith::backends {

struct IndexSpace {
  int rank;  // 0 for a single element
  int sizes[kMaxAxes];
  int count;  // product of sizes
};

}  // namespace fusesmith::backends
