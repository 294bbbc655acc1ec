// The kernels of pointwise ops on the CPU, and of formulas that are made of them.
#pragma once

#include "backends/common/kernels.h"
#include "graph/pointwise_formula.h"

namespace fusesmith::backends {

// An op with one or two operands of which a scalar function computes the elements (scalar_step.h).
void compute_pointwise(const Op& op, Inputs in, Outputs out, const KernelOptions& options);

// A formula in one loop. It equals its parts, computed one by one, bit for bit.
void compute_formula(const PointwiseFormula& formula, Inputs in, Tensor& out);

}  // namespace fusesmith::backends
