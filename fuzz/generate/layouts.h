// Memory layouts for the inputs and states of generated cases.
#pragma once

#include "fuzz/base/choices.h"
#include "graph/graph.h"

namespace fusesmith::fuzz {

// Of the cases that have layouts. They are drawn after all else, so that the graph and the data of a case do
// not depend on this, but for the data of inputs that repeats.
inline constexpr double kLayoutShare = 0.25;

// Gives a share of the sources a layout: permuted, padded, at an offset, expanded (then the data of the input
// repeats) or badly aligned. Nothing else changes. `exact`: data must stay as it is.
Graph with_layouts(Choices& choices, Graph graph, bool exact);

}  // namespace fusesmith::fuzz
