// Grids: what the generator knows of a value so that a whole graph can be made of exact data. A value is on a
// grid when its elements are multiples of 2^step of at most `largest` in magnitude, all of them numbers that
// its dtype holds exactly. An op is exact where its result is on a grid again, whatever the order of its
// roundings. Sufficient, not necessary; nothing is judged by it: how many regions were exact is counted from
// the verdicts.
#pragma once

#include <optional>
#include <span>

#include "graph/fill.h"
#include "graph/op.h"

namespace fusesmith::fuzz {

struct Grid {
  int step = 0;
  double largest = 0;
  bool constant = false;  // every element is `largest`, or every one -largest
  bool operator==(const Grid&) const = default;
};

// Whether the dtype holds every such number, none of them subnormal.
bool holds(Dtype dtype, const Grid& grid);

// Nothing where the fill makes other numbers, or ones that the dtype would round.
std::optional<Grid> grid_of(const Fill& fill, Dtype dtype);
// Of all outputs of the op, `output` being the first; nothing where it may round. Ops that are exact on rows
// of a certain kind alone (softmax, norms, attention) are not known here: who makes such rows says so.
std::optional<Grid> grid_of(const Op& op, std::span<const Grid> inputs, TypeSpan input_types,
                            const TensorType& output);

}  // namespace fusesmith::fuzz
