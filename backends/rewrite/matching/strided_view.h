// StridedView: the result of movement ops, read in place from the value that the ops started from. It
// lists strided axes that are independent of shapes, so that reshapes which split or merge axes need no
// copy.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace fusesmith::backends {

struct StridedAxis {
  int64_t size = 1, stride = 0;
  bool operator==(const StridedAxis&) const = default;
};
using StridedAxes = std::vector<StridedAxis>;

// Element p, in row-major order, has the offset sum of digit * stride, where the digits are those of p in
// the mixed radix of the sizes, outermost first. No size is 1, and no two neighbouring axes could be
// merged.
struct StridedView {
  StridedAxes axes;

  static StridedView dense(const Shape& shape);
  // The offsets of elements 0, step, ..., (size - 1) step, as axes; empty if no axes describe them. A step
  // of 0 stays at the start.
  std::optional<StridedAxes> walk(int64_t size, int64_t step) const;
  bool operator==(const StridedView&) const = default;
};

// Whether moved() supports the op: permute, reshape, unsqueeze, squeeze, broadcast_to.
bool is_view_op(const Op& op);

// The view of op(x), given the view of x, whose shape is `in`; empty if strides cannot describe it.
std::optional<StridedView> moved(const StridedView& view, const Op& op, const Shape& in);

// Splits lists of axes with equal element counts until their sizes agree axis by axis; false if the sizes
// do not divide each other.
bool cut_alike(std::span<StridedAxes> lists);

// The dims of the inverse permute.
Shape inverse_dims(const Shape& dims);

}  // namespace fusesmith::backends
