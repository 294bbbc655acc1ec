// The same nodes between other inputs, states and outputs.
#pragma once

#include "graph/graph.h"

namespace fusesmith::graph {

// `inputs` and `states` are those of the graph in the same order, with other data or layouts.
Result<Graph> rebuild(const Graph& graph, std::vector<Input> inputs, std::vector<State> states,
                      const std::vector<ValueId>& outputs);

}  // namespace fusesmith::graph
