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

}  // namespace fusesmith::graph
