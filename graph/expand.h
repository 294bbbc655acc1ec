// The definition of composite ops as graphs of simpler ones: what the reference evaluates and the unfused
// executors run.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace fusesmith::graph {

// A graph whose inputs are the op's inputs, in order, and whose outputs are the op's outputs; nothing for an
// op that is not composite. The names of its nodes name the op's inner values ("scores", "scaled", "p", ...).
std::optional<Graph> expansion(const Op& op, TypeSpan inputs);

}  // namespace fusesmith::graph
