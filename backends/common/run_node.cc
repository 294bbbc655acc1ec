#include "backends/common/run_node.h"

#include "backends/common/kernels.h"
#include "backends/common/shown_step.h"

namespace fusesmith::backends {

std::vector<Tensor> run_node(const Op& op, std::span<const Tensor* const> inputs,
                             std::span<const TensorType> outputs, F32Products products, Probe* probe) {
  std::vector<Tensor> results;
  results.reserve(outputs.size());
  for (const TensorType& type : outputs) results.emplace_back(type);
  if (show_movement(op, inputs, results, probe)) return results;
  const KernelOptions options{products, probe};
  compute(op, inputs, results, options);
  return results;
}

void run_node(const Graph& graph, int node, std::span<TensorPtr> values, F32Products products, Probe* probe) {
  const Node& about = graph.nodes()[static_cast<size_t>(node)];
  std::vector<const Tensor*> inputs;
  for (ValueId v : about.inputs) {
    inputs.push_back(values[static_cast<size_t>(v)].get());
    check(inputs.back() != nullptr, "run_node: an input is not known");
  }
  Types types;
  for (int i = 0; i < about.output_count; ++i) types.push_back(graph.type(about.first_output + i));
  std::vector<Tensor> results = run_node(about.op, inputs, types, products, probe);
  for (size_t i = 0; i < results.size(); ++i) {
    values[static_cast<size_t>(about.first_output) + i] =
        std::make_shared<const Tensor>(std::move(results[i]));
  }
}

}  // namespace fusesmith::backends
