// How matmul, linear and einsum read as one product over batch, m, n and k axes.
#pragma once

#include <optional>

#include "backends/rewrite/fused_op.h"

namespace fusesmith {

// The node as a matrix product: matmul and linear always (a bias of linear is left to the caller), einsum
// when m, n and k each have a letter and no letter is summed over one operand alone. Its result may be read
// together with a tensor of shape `addend` that broadcasts to it. Nothing for any other node.
std::optional<BatchedProduct> gemm_product(const Graph& graph, const Node& node, const Shape& addend = {});

// An einsum that lacks m, n or k altogether. Nothing for any other node.
std::optional<MultiplyReduce> multiply_reduce(const Graph& graph, const Node& node);

}  // namespace fusesmith
