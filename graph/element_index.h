// Where an element of a tensor is, axis by axis.
#pragma once

#include "graph/tensor.h"

namespace fusesmith::graph {

// The index along each axis of the element with this row-major number; empty for a scalar.
inline Shape unravelled(int64_t element, const Shape& shape) {
  Shape index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; element /= shape[axis]) index[axis] = element % shape[axis];
  return index;
}

}  // namespace fusesmith::graph
