// matmul, linear and einsum as strided products.
#pragma once

#include "backends/common/multiply.h"
#include "graph/op.h"

namespace fusesmith::backends {

// The product that the op computes from inputs of these types, contiguous and row-major; without the bias of
// linear.
Product product_of(const Einsum& op, TypeSpan in, const TensorType& out);
Product product_of(const Matmul& op, TypeSpan in, const TensorType& out);
Product product_of(const Linear& op, TypeSpan in, const TensorType& out);

}  // namespace fusesmith::backends
