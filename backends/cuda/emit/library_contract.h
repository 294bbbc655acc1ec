// What the libraries behind the unfused kernels do beyond the graph's roundings, as measured: part of the
// contract of every region that runs node by node.
#pragma once

#include "oracle/plan.h"

namespace fusesmith::backends {

// Whether cuDNN computes the softmax of [outer, n, inner] elements of this dtype, and stores its exponentials
// in 16 bits.
bool cudnn_rounds_exponentials(Dtype dtype, int64_t n, int64_t inner);

// Adds to the region's contract what these nodes' library calls may round.
void declare_library_roundings(const Graph& graph, Region& region);

}  // namespace fusesmith::backends
