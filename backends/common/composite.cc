// Composite ops run their expansion, node by node.
#include "backends/common/kernels.h"
#include "backends/common/run_node.h"
#include "graph/expand.h"

namespace fusesmith::backends {

void compute(const Sdpa& op, Inputs in, Outputs out, const KernelOptions& options) {
  Types types;
  for (const Tensor* tensor : in) types.push_back(tensor->type);
  const auto graph = expansion(op, types);
  check(graph.has_value(), "composite: no expansion");
  std::vector<TensorPtr> values(static_cast<size_t>(graph->value_count()));
  for (size_t i = 0; i < in.size(); ++i) values[i] = TensorPtr(TensorPtr(), in[i]);  // borrowed
  for (size_t n = 0; n < graph->nodes().size(); ++n) {
    const bool shown = detailed(options.probe) || std::holds_alternative<Softmax>(graph->nodes()[n].op);
    run_node(*graph, static_cast<int>(n), values, options.products, shown ? options.probe : nullptr);
  }
  for (size_t i = 0; i < out.size(); ++i) out[i] = *values[static_cast<size_t>(graph->outputs()[i])];
}

}  // namespace fusesmith::backends
