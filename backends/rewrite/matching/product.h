// How matmul, linear and einsum read as one product over batch, m, n and k axes.
#pragma once

#include <optional>

#include "backends/rewrite/fused_op.h"
#include "backends/rewrite/matching/strided_view.h"

namespace fusesmith::backends {

// The node as a matrix product: matmul and linear always (a bias of linear is left to the caller), einsum
// when m, n and k each have a letter and no letter is summed over one operand alone. Its result may be read
// together with a tensor of shape `addend` that broadcasts to it. Nothing for any other node.
std::optional<BatchedProduct> gemm_product(const Graph& graph, const Node& node, const Shape& addend = {});

// The same product of operands, and with a result, that views find in other tensors (`a` and `b` still name
// the viewed values). Nothing where the axes of the three do not split alike. Without an addend.
std::optional<BatchedProduct> through_views(const BatchedProduct& product, const StridedView& a,
                                            const StridedView& b, const StridedView& out);

// An einsum that lacks m, n or k altogether. Nothing for any other node.
std::optional<MultiplyReduce> multiply_reduce(const Graph& graph, const Node& node);

}  // namespace fusesmith::backends
