// flip as a strided read of its input.
#pragma once

#include "graph/op.h"

namespace fusesmith::backends {

// Element (i, j, ...) of the output is the input element with offset start + strides . (i, j, ...).
struct FlipView {
  int64_t start = 0;
  Shape strides;
};

inline FlipView flip_view(const Flip& op, const TensorType& type) {
  FlipView view{0, strides_of(type.shape)};
  const std::vector<int> axes = *resolve_axes(op.axes, type.rank());
  for (int axis : axes) {
    const auto at = static_cast<size_t>(axis);
    view.start += (type.shape[at] - 1) * view.strides[at];
    view.strides[at] = -view.strides[at];
  }
  return view;
}

}  // namespace fusesmith::backends
