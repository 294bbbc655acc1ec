// Rules of reverse accumulation of products (graph/gradient_rules.h).
#pragma once

#include "graph/gradient_rules.h"

namespace fusesmith::graph {

Result<InputGradients> matmul_gradients(const Matmul& op, const ForwardNode& node);
Result<InputGradients> linear_gradients(const ForwardNode& node);
// The problem: a letter twice in one operand, whose gradient would be a diagonal.
Result<InputGradients> einsum_gradients(const Einsum& op, const ForwardNode& node);
Result<InputGradients> rope_gradients(const Rope& op, const ForwardNode& node);

}  // namespace fusesmith::graph
