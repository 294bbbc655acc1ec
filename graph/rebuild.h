// The same nodes between other inputs, states and outputs.
#pragma once

#include <map>
#include <string>

#include "graph/graph.h"

namespace fusesmith::graph {

// `inputs` and `states` are those of the graph in the same order, with other data or layouts.
Result<Graph> rebuild(const Graph& graph, std::vector<Input> inputs, std::vector<State> states,
                      const std::vector<ValueId>& outputs);

// The nodes that the outputs follow from, each after what it reads, as a walk from the outputs meets them.
// Graphs that are made of formulas in C++ have this order with every compiler; the order in which a compiler
// evaluates the terms of a sum is its own. For graphs without states. `names`: of nodes by number, where they
// are to change; no other value has them.
Graph in_reading_order(const Graph& graph, const std::map<int, std::string>& names = {});

}  // namespace fusesmith::graph
