// The index space of a kernel, in row-major order. C++17 without graph headers.
#pragma once

#include "backends/cuda/kernels/storage.h"

namespace fusesmith::backends {

struct IndexSpace {
  int rank;  // 0 for a single element
  int sizes[kMaxAxes];
  int count;  // product of sizes
};

}  // namespace fusesmith::backends
