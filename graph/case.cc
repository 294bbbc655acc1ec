#include "graph/case.h"

#include <algorithm>

namespace fusesmith::graph {

Tensor data_of(const Case& test_case, const Input& input, int64_t step) {
  Tensor tensor = materialize(input.fill, input.type, test_case.seed, input.name, step);
  repeat_elements(tensor, input.repeat);
  return tensor;
}

Tensor data_of(const Case& test_case, const State& state) {
  return materialize(state.fill, state.type, test_case.seed, state.name, 0);
}

std::vector<Tensor> make_inputs(const Case& test_case, int64_t step) {
  std::vector<Tensor> tensors;
  for (const Input& input : test_case.graph.inputs()) tensors.push_back(data_of(test_case, input, step));
  return tensors;
}

bool has_data_files(const Case& test_case) {
  const auto in_file = [](const auto& source) { return std::holds_alternative<FileData>(source.fill); };
  return std::ranges::any_of(test_case.graph.inputs(), in_file) ||
         std::ranges::any_of(test_case.graph.states(), in_file);
}

std::optional<Problem> stand_in_problem(const Case& test_case) {
  const Graph& graph = test_case.graph;
  const auto is_output = [&](ValueId v) {
    return std::find(graph.outputs().begin(), graph.outputs().end(), v) != graph.outputs().end();
  };
  const auto consumers = graph.consumers();
  std::vector<ValueId> replaced;
  for (size_t i = 0; i < test_case.stand_ins.size(); ++i) {
    const StandIn& pair = test_case.stand_ins[i];
    const auto wrong = [&](const char* key, const std::string& what, const std::string& got) {
      return Problem{"stand_ins[" + std::to_string(i) + "]." + key + ": expected " + what + ", got \"" + got +
                     "\""};
    };
    const auto value = graph.find(pair.value), by = graph.find(pair.by);
    const bool next = value && std::any_of(graph.states().begin(), graph.states().end(),
                                           [&](const State& state) { return state.next == *value; });
    const bool again = value && std::find(replaced.begin(), replaced.end(), *value) != replaced.end();
    if (!value || !graph.producer(*value) || !is_output(*value) || next || again ||
        !consumers[static_cast<size_t>(*value)].empty()) {
      return wrong("value", "a node's output, named once, that only the graph's outputs hold", pair.value);
    }
    replaced.push_back(*value);
    if (!by || *by == *value || !is_output(*by) || graph.type(*by) != graph.type(*value))
      return wrong("by", "another output of type " + to_string(graph.type(*value)), pair.by);
  }
  return std::nullopt;
}

}  // namespace fusesmith::graph
