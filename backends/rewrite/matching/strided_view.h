// StridedView: the result of movement ops read where its elements already lie, in the value that those ops
// started from. Axes are kept apart from shapes, so that reshapes which split or join axes cost nothing.
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

// Element p, counted in row-major order, lies at the sum of digit * stride: its digits are those of p in the
// mixed radix of the sizes, the outermost first. No size is 1, and no two neighbours could be one axis.
struct StridedView {
  StridedAxes axes;

  static StridedView dense(const Shape& shape);
  // Where elements 0, step, ..., (size - 1) step lie, as axes; nothing where no axes say it. A step of 0
  // stays at the start.
  std::optional<StridedAxes> walk(int64_t size, int64_t step) const;
  bool operator==(const StridedView&) const = default;
};

// Whether moved() knows the op: permute, reshape, unsqueeze, squeeze, broadcast_to.
bool is_view_op(const Op& op);

// The view of op(x), given that of x, whose shape is `in`; nothing where strides cannot say it.
std::optional<StridedView> moved(const StridedView& view, const Op& op, const Shape& in);

// Cuts lists of axes, each of equally many elements, until their sizes agree axis by axis; false where they
// do not divide each other.
bool cut_alike(std::span<StridedAxes> lists);

// The dims that undo a permute.
Shape inverse_dims(const Shape& dims);

}  // namespace fusesmith::backends
