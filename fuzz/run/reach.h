// Which elements of a graph's values can change when some elements of its inputs do, whatever correct
// executor computes them. An element cannot if it is computed from unchanged elements alone: an op does not
// read the changed ones, a mask hides them, or they are finite and multiplied by an exact 0.
#pragma once

#include <cstdint>
#include <vector>

#include "fuzz/run/metamorphic.h"

namespace fusesmith::fuzz {

// By ValueId; one byte for each element: 1 where it can change, also in its rounding.
using Reach = std::vector<std::vector<uint8_t>>;

// Between two runs of a graph without states on these inputs, which have the graph's types. Elements are
// called changed where the bits of the inputs differ. Runs the graph on both, op by op on the CPU. May throw
// std::bad_alloc.
Reach reach_of(const Graph& graph, const Inputs& before, const Inputs& after);

}  // namespace fusesmith::fuzz
