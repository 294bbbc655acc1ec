// A graph as a few lines of code that readers of PyTorch or NumPy can follow.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/case.h"

namespace fusesmith::fuzz {

// One line for each input, state and node, with the type of its value, and the outputs:
//   x = normal(stddev=2)  # f16[4, 64]
//   y = softmax(x, axis=-1)  # f16[4, 64]
//   return y
// Attributes with their default values are left out. `marked`: nodes to mark as the failing region. Of a
// larger graph than `lines` lines, the end is left out with a note that says how many lines.
std::string graph_code(const Graph& graph, const std::vector<int>& marked = {}, size_t lines = SIZE_MAX);

}  // namespace fusesmith::fuzz
