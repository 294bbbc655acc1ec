// Subsets: a part of the rows, batch elements or heads is computed alone, as the same graph of smaller shapes.
// A kernel that is batch invariant gives each of them the bits that it has beside the others. That is required
// of regions whose contract says so (Arithmetic::batch_invariant), since others may add up in another order
// for other shapes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuzz/run/metamorphic.h"

namespace fusesmith::fuzz {

struct Subset {
  Graph graph;                  // of the kept places alone; its values have their names
  std::vector<int> axes;        // by ValueId of the whole graph: the axis that is cut, -1 where none is
  std::vector<int64_t> places;  // kept, ascending; fewer than there are
  std::string kept;             // "places 2, 5 and 6 of x[:,*]"
};

// One that the graph allows: no op mixes the axis, cuts it or reads it by its position. Of 1, 2, 15, 16, 17,
// 255, 256 or 257 places, a half, or all but one. Nothing where there is no such axis of two or more.
std::optional<Subset> draw_subset(const Graph& graph, Choices& choices);

bool any_batch_invariant(const Plan& plan);

// Runs `part`, the subset's graph on the backend of `plan`, and compares its regions that are batch invariant
// by their contracts with what they left in `before`, where both got the same inputs.
MetamorphicCheck check_subset(Program& part, const Plan& plan, const Graph& graph, const Trace& before,
                              const Subset& subset);

}  // namespace fusesmith::fuzz
