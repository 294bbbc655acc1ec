// One node alone: the kernels that the unfused executor runs for every node, and a fusing one for the nodes
// it leaves alone. Each kernel reads its stored inputs as f32, computes in f32, and rounds once to the
// storage dtype of its output; movement, select and source ops move or make bits without rounding. A
// composite op runs its expansion (graph/expand.h) node by node, so that it equals that expansion bit for
// bit. One file per family of ops; an op without a kernel does not link.
#pragma once

#include <span>
#include <vector>

#include "backends/common/tf32.h"
#include "backends/inner_values.h"
#include "graph/op.h"
#include "oracle/plan.h"

namespace fusesmith::backends {

// The outputs of `op` on these inputs, which must be of types that infer() accepts and give `outputs`.
std::vector<Tensor> run_node(const Op& op, std::span<const Tensor* const> inputs,
                             std::span<const TensorType> outputs, F32Products products = F32Products::ieee,
                             Probe* probe = nullptr);

// Node number `node` of the graph, on values that are known (by ValueId); its outputs are put among them.
void run_node(const Graph& graph, int node, std::span<TensorPtr> values,
              F32Products products = F32Products::ieee, Probe* probe = nullptr);

}  // namespace fusesmith::backends
