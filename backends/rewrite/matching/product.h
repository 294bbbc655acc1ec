// matmul, linear and einsum as one product over batch, m, n and k axes.
#pragma once

#include <optional>

#include "backends/rewrite/fused_op.h"
#include "backends/rewrite/matching/strided_view.h"

namespace fusesmith::backends {

// The node, of float operands, as a matrix product: matmul and linear always (the caller handles a bias of
// linear); einsum if m, n and k each have a letter and no letter is summed over one operand only. The result
// may be combined with a tensor of shape `addend` that broadcasts to it. Empty for any other node.
std::optional<BatchedProduct> gemm_product(const Graph& graph, const Node& node, const Shape& addend = {});

// The same product with operands and result that are views of other tensors (`a` and `b` still name the
// viewed values). Empty if the axes of the three cannot be split alike. Has no addend.
std::optional<BatchedProduct> through_views(const BatchedProduct& product, const StridedView& a,
                                            const StridedView& b, const StridedView& out);

// An einsum that lacks m, n or k. Empty for any other node.
std::optional<MultiplyReduce> multiply_reduce(const Graph& graph, const Node& node);

}  // namespace fusesmith::backends
