// The definition of composite ops as graphs of simpler ops, which the reference evaluates and the unfused
// executors run.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace fusesmith::graph {

// A graph with the op's inputs and outputs, in order; empty if the op is not composite. The names of its
// nodes are the names of the op's inner values ("scores", "scaled", "p", ...).
std::optional<Graph> expansion(const Op& op, TypeSpan inputs);

}  // namespace fusesmith::graph
