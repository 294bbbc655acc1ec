// Observe fewer values; nodes that no output needs are removed. First one output alone, then halves of the
// outputs, then all but one, then operands of an output's node in its place.
#include <algorithm>

#include "minimizer/reductions.h"

namespace fusesmith::minimizer {
namespace {

std::vector<std::string> names_of(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<std::string> names;
  for (ValueId v : values) names.push_back(graph.name(v));
  return names;
}

// The values of the failing nodes that other nodes read or that are observed.
std::vector<ValueId> outputs_of_failing_nodes(const Situation& now) {
  const Graph& graph = now.test_case.graph;
  const auto& failing = now.probe.failing_nodes;
  const auto consumers = graph.consumers();
  std::vector<ValueId> values;
  for (int n : failing) {
    const Node& node = graph.nodes()[static_cast<size_t>(n)];
    for (ValueId v = node.first_output; v < node.first_output + node.output_count; ++v) {
      const auto& readers = consumers[static_cast<size_t>(v)];
      const bool inside = !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](int r) {
        return std::find(failing.begin(), failing.end(), r) != failing.end();
      });
      if (!inside || graph.is_observed(v)) values.push_back(v);
    }
  }
  return values;
}

std::vector<Edits> propose_cut_outputs(const Situation& now) {
  const Graph& graph = now.test_case.graph;
  std::vector<Edits> proposals;
  const auto observe = [&](const std::vector<ValueId>& values) {
    if (!values.empty()) proposals.push_back({SetOutputs{names_of(graph, values)}});
  };
  observe(outputs_of_failing_nodes(now));
  const std::vector<ValueId>& outputs = graph.outputs();
  if (outputs.size() > 1) {
    for (ValueId v : outputs) observe({v});
    const auto middle = outputs.begin() + static_cast<std::ptrdiff_t>(outputs.size() / 2);
    observe({outputs.begin(), middle});
    observe({middle, outputs.end()});
    for (ValueId v : outputs) {
      std::vector<ValueId> others = outputs;
      others.erase(std::find(others.begin(), others.end(), v));
      observe(others);
    }
  }
  for (ValueId output : outputs) {
    const auto producer = graph.producer(output);
    if (!producer) continue;
    std::vector<ValueId> earlier;  // the operands of this output's node, and the other outputs
    for (ValueId v : outputs) {
      if (v != output) earlier.push_back(v);
    }
    for (ValueId v : graph.nodes()[static_cast<size_t>(*producer)].inputs) {
      if (graph.producer(v) && std::find(earlier.begin(), earlier.end(), v) == earlier.end())
        earlier.push_back(v);
    }
    observe(earlier);
  }
  return proposals;
}

}  // namespace

const Reduction kCutOutputs{"cut_outputs",
                            "Observe fewer or earlier values; nodes that no output needs are removed.",
                            propose_cut_outputs};

}  // namespace fusesmith::minimizer
