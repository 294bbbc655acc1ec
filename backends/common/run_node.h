// Executes one node: used by the unfused executor for every node, and by the fused one for nodes that no
// pattern claims. Kernels read stored inputs as f32, compute in f32, and round once to the storage dtype
// of the output; movement, select and source ops copy or create bits without rounding. A composite op runs
// its expansion (graph/expand.h) node by node, so that it equals the expansion bit for bit. One file for
// each family of ops; an op without a kernel does not compile.
#pragma once

#include <span>
#include <vector>

#include "backends/common/tf32.h"
#include "backends/inner_values.h"
#include "graph/op.h"
#include "oracle/plan.h"

namespace fusesmith::backends {

// The outputs of `op` for these inputs; infer() must give `outputs` for their types.
std::vector<Tensor> run_node(const Op& op, std::span<const Tensor* const> inputs,
                             std::span<const TensorType> outputs, F32Products products = F32Products::ieee,
                             Probe* probe = nullptr);

// Executes node number `node` of the graph. Reads its inputs from `values` (by ValueId) and stores its
// outputs there.
void run_node(const Graph& graph, int node, std::span<TensorPtr> values,
              F32Products products = F32Products::ieee, Probe* probe = nullptr);

}  // namespace fusesmith::backends
