#include "graph/rebuild.h"

namespace fusesmith::graph {

Result<Graph> rebuild(const Graph& graph, std::vector<Input> inputs, std::vector<State> states,
                      const std::vector<ValueId>& outputs) {
  Builder builder;
  for (Input& input : inputs) builder.input(std::move(input));
  for (State& state : states) builder.state(std::move(state));
  for (const Node& node : graph.nodes()) {
    if (builder.failed()) break;
    builder.node(node.op, node.inputs, node.name);
  }
  for (size_t s = 0; s < graph.states().size(); ++s)
    builder.next_state(static_cast<int>(s), graph.states()[s].next);
  for (const ValueId v : outputs) builder.output(v);
  return builder.build();
}

namespace {

// Indices of nodes.
std::vector<size_t> reading_order(const Graph& graph) {
  struct Visit {
    size_t node, next_input;
  };
  std::vector<size_t> order;
  std::vector<Visit> open;
  std::vector<bool> met(graph.nodes().size(), false);
  const auto visit = [&](ValueId value) {
    const auto producer = graph.producer(value);
    if (!producer || met[static_cast<size_t>(*producer)]) return;
    met[static_cast<size_t>(*producer)] = true;
    open.push_back({static_cast<size_t>(*producer), 0});
  };
  for (const ValueId output : graph.outputs()) {
    visit(output);
    while (!open.empty()) {
      const size_t node = open.back().node, next = open.back().next_input++;
      const auto& inputs = graph.nodes()[node].inputs;
      if (next < inputs.size()) {
        visit(inputs[next]);
      } else {
        order.push_back(node);
        open.pop_back();
      }
    }
  }
  return order;
}

}  // namespace

Graph in_reading_order(const Graph& graph, const std::map<int, std::string>& names) {
  check(graph.states().empty(), "in_reading_order: a graph with states");
  Builder builder;
  std::vector<ValueId> values(static_cast<size_t>(graph.value_count()), -1);
  for (size_t i = 0; i < graph.inputs().size(); ++i) values[i] = builder.input(graph.inputs()[i]);
  for (const size_t index : reading_order(graph)) {
    const Node& node = graph.nodes()[index];
    std::vector<ValueId> inputs;
    for (const ValueId v : node.inputs) inputs.push_back(values[static_cast<size_t>(v)]);
    const auto renamed = names.find(static_cast<int>(index));
    const ValueId first = builder.node(node.op, inputs, renamed == names.end() ? node.name : renamed->second);
    for (int k = 0; k < node.output_count; ++k)
      values[static_cast<size_t>(node.first_output + k)] = first + k;
  }
  for (const ValueId v : graph.outputs()) builder.output(values[static_cast<size_t>(v)]);
  const auto built = builder.build();
  check(built.ok(), "in_reading_order: the graph is invalid");
  return *built;
}

}  // namespace fusesmith::graph
