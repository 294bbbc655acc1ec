// Roundings that cuBLAS and cuDNN were measured to add to those of the graph: part of the contract of every
// region that runs node by node.
#pragma once

#include "oracle/plan.h"

namespace fusesmith::backends {

// Whether cuDNN, for a softmax over [outer, n, inner] elements of this dtype, stores its exponentials in 16
// bits.
bool cudnn_rounds_exponentials(Dtype dtype, int64_t n, int64_t inner);

// Adds the roundings of these nodes' library calls to the region's contract.
void declare_library_roundings(const Graph& graph, Region& region);

}  // namespace fusesmith::backends
