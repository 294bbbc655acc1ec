// The graph of a finding as code, with its failing region marked.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace fusesmith::fuzz {

// code_lines (fuzz/render/code.h) with "<- failing region" beside the nodes `marked`. Of a graph of more than
// `most` lines the middle is left out, and a line says how many lines.
std::string graph_code(const Graph& graph, const std::vector<int>& marked = {}, size_t most = SIZE_MAX);

}  // namespace fusesmith::fuzz
