// Grids of drawn data, and of what ops make of them (graph/traits/grid.h): what the generator knows of a
// value so that a whole graph can be made of exact data. How many regions were exact is counted from the
// verdicts.
#pragma once

#include "graph/fill.h"
#include "graph/op_traits.h"

namespace fusesmith::fuzz {

// Whether the dtype holds every such number, none of them subnormal.
bool holds(Dtype dtype, const Grid& grid);

// Nothing where the fill makes other numbers, or ones that the dtype would round.
std::optional<Grid> grid_of(const Fill& fill, Dtype dtype);
// Of all outputs of the op, `output` being the first; nothing where it may round.
std::optional<Grid> grid_of(const Op& op, std::span<const Grid> inputs, TypeSpan input_types,
                            const TensorType& output);

}  // namespace fusesmith::fuzz
