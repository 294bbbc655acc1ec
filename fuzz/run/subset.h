// Subsets: a part of the rows, batch elements or heads is computed alone, as the same graph of smaller
// shapes. A kernel that is batch invariant gives each of them the bits that it has beside the others. That is
// required of regions whose contract says so (Arithmetic::batch_invariant), since others may add up in
// another order for other shapes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuzz/run/metamorphic.h"

namespace fusesmith::fuzz {

// A part of what a region computes.
struct Subset {
  Graph graph;                    // of the region's nodes, and of the kept places alone
  std::vector<ValueId> in_whole;  // by ValueId of `graph`: that value in the whole graph
  std::vector<int> axes;          // by ValueId of `graph`: the axis that is cut, -1 where none is
  std::vector<int64_t> places;    // kept, ascending; fewer than there are
  std::string kept;               // "places 2, 5, 6 of axis 0 of x"
};

// One that the region allows, along an axis of its first input (the others may be weights): no op of it mixes
// the axis, cuts it or reads it by its position. Of 1, 2, 15, 16, 17, 255, 256 or 257 places, a half, or all
// but one. Nothing where there is no such axis of two or more.
std::optional<Subset> draw_subset(const Graph& graph, const Region& region, const Trace& trace,
                                  Choices& choices);

// The plan's regions that are batch invariant by their contracts, by number.
std::vector<size_t> batch_invariant_regions(const Plan& plan);

// Runs `part`, the subset's graph on the backend of the region, and compares its results with what region
// number `region` left in `before`. Nothing is compared where `part` does not promise the same, unless it is
// `required`.
MetamorphicCheck check_subset(Program& part, size_t region, const Trace& before, const Subset& subset,
                              bool required = false);

}  // namespace fusesmith::fuzz
