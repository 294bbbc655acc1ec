// Reading the "graph" part of a case file.
#pragma once

#include "graph/graph.h"
#include "graph/json_fields.h"

namespace fusesmith::graph {

// Nothing, with a problem, when it is not a valid graph. `data` has what fills of the kind `file` name.
std::optional<Graph> read_graph(const Place& place, const DataFiles& data);

}  // namespace fusesmith::graph
