// The kernels behind run_node: one overload for each op that is neither pointwise nor defined by a formula.
// `out` is allocated with its type; inputs were checked by infer(). Kernels with inner values take a probe.
#pragma once

#include <span>

#include "backends/common/tf32.h"
#include "backends/inner_values.h"
#include "graph/op.h"

namespace fusesmith::backends {

using Inputs = std::span<const Tensor* const>;
using Outputs = std::span<Tensor>;

struct KernelOptions {
  F32Products products = F32Products::ieee;  // how products read f32 operands
  Probe* probe = nullptr;                    // null, or is shown the inner values of the kernel
};

#define FUSESMITH_KERNEL(T) void compute(const T& op, Inputs in, Outputs out, const KernelOptions& options);
FUSESMITH_FOR_EACH_OP(FUSESMITH_KERNEL)
#undef FUSESMITH_KERNEL

// Any op.
void compute(const Op& op, Inputs in, Outputs out, const KernelOptions& options);
// A composite op: its expansion, node by node.
void compute_parts(const Op& op, Inputs in, Outputs out, const KernelOptions& options);

}  // namespace fusesmith::backends
