// Reading the "graph" part of a case file.
#pragma once

#include "graph/graph.h"
#include "graph/json_fields.h"

namespace fusesmith::graph {

// Nothing, with a problem, when it is not a valid graph.
std::optional<Graph> read_graph(const Place& place);

}  // namespace fusesmith::graph
