// Names that say what they name: inputs and states after the operand that they are (weight, mask, q), nodes
// after their op and a number, the product that a softmax reads `scores`.
#pragma once

#include <map>
#include <string>

#include "graph/graph.h"

namespace fusesmith::minimizer {

// For each input, state and node that is not called so: the name that it should have. All of them are
// distinct, and applied together they give a graph of which nothing more is to be renamed.
std::map<std::string, std::string> descriptive_renames(const Graph& graph);

}  // namespace fusesmith::minimizer
