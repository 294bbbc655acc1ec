#include "fuzz/export/torch_graph.h"

#include "graph/expand.h"

namespace fusesmith::fuzz {

TorchWriter::TorchWriter(const Graph& graph, Identifiers& names) : graph_(graph), names_(names) {
  for (const Node& node : graph.nodes()) add_node(node);
}

void TorchWriter::add_node(const Node& node) {
  TorchOperands operands{names_.of(node.inputs), {}, graph_.type(node.first_output)};
  for (ValueId value : node.inputs) operands.types.push_back(graph_.type(value));
  if (!has_torch_code(node.op)) return add_composite(node, operands);
  add_line(results_text(node, names_), node.op, operands, types_text(graph_, node));
}

void TorchWriter::add_line(const std::string& result, const Op& op, const TorchOperands& operands,
                           const std::string& types) {
  text_ += "    " + result + " = " + torch_code(op, operands, helpers_) + "  # " + types + "\n";
}

// The nodes that define it.
void TorchWriter::add_composite(const Node& node, const TorchOperands& operands) {
  const Graph inner = *expansion(node.op, operands.types);
  text_ += "    # " + results_text(node, names_) + " = " +
           call_text(node.op, operands.names, Attributes::telling) + ":\n";
  const std::vector<std::string> words = expansion_names(node, inner, operands.names, names_);
  for (const Node& part : inner.nodes()) {
    TorchOperands inputs{{}, {}, inner.type(part.first_output)};
    for (ValueId value : part.inputs) {
      inputs.names.push_back(words[static_cast<size_t>(value)]);
      inputs.types.push_back(inner.type(value));
    }
    add_line(words[static_cast<size_t>(part.first_output)], part.op, inputs, to_string(inputs.output));
  }
}

}  // namespace fusesmith::fuzz
