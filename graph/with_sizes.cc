#include "graph/with_sizes.h"

#include <algorithm>

namespace fusesmith::graph {

Op with_sizes(Op op, const Shape& in, const Shape& out) {
  if (auto* reshape = std::get_if<Reshape>(&op)) reshape->shape = out;
  if (auto* broadcast_to = std::get_if<BroadcastTo>(&op)) broadcast_to->shape = out;
  if (auto* arange = std::get_if<Arange>(&op)) arange->count = out[0];
  if (auto* mask = std::get_if<CausalMask>(&op)) {
    mask->rows = out[0];
    mask->cols = out[1];
  }
  if (auto* slice = std::get_if<Slice>(&op)) {
    const auto axis = static_cast<size_t>(*resolve_axis(slice->axis, static_cast<int>(in.size())));
    const int64_t length = strided_length(out[axis], slice->step);
    const bool fits = slice->stop <= in[axis] && slice->start + length <= slice->stop &&
                      (slice->stop - slice->start - 1) / slice->step + 1 == out[axis];
    if (!fits) {
      slice->start = std::max<int64_t>(0, std::min(slice->start, in[axis] - length));
      slice->stop = slice->start + length;
    }
  }
  return op;
}

}  // namespace fusesmith::graph
