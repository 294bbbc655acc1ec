// Attributes that name sizes: what they are when the tensors of a node get other shapes.
#pragma once

#include "graph/op.h"

namespace fusesmith::graph {

// The op with the attributes that name sizes set for these new shapes of its first input (empty for sources)
// and output.
Op with_sizes(Op op, const Shape& in, const Shape& out);

// The length from the first to the last of `count` elements that are `step` apart, both included.
inline int64_t strided_length(int64_t count, int64_t step) { return (count - 1) * step + 1; }

}  // namespace fusesmith::graph
