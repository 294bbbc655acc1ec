#include "backends/rewrite/matching/strided_view.h"

#include <algorithm>

namespace fusesmith::backends {
namespace {

StridedView tidied(const StridedAxes& axes) {
  StridedView view;
  for (const StridedAxis& axis : axes) {
    if (axis.size == 1) continue;
    if (!view.axes.empty() && view.axes.back().stride == axis.stride * axis.size) {
      view.axes.back() = {view.axes.back().size * axis.size, axis.stride};
    } else {
      view.axes.push_back(axis);
    }
  }
  return view;
}

// The view whose axis i goes along `steps[i]` (in elements of the viewed value), `sizes[i]` times.
std::optional<StridedView> restrided(const StridedView& view, const Shape& sizes, const Shape& steps) {
  StridedAxes axes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto walked = view.walk(sizes[i], steps[i]);
    if (!walked) return std::nullopt;
    axes.insert(axes.end(), walked->begin(), walked->end());
  }
  return tidied(axes);
}

// Takes the innermost `size` elements off the axes.
StridedAxis take_innermost(StridedAxes& axes, int64_t size) {
  StridedAxis& last = axes.back();
  const int64_t stride = last.stride;
  last.size /= size;
  last.stride *= size;
  if (last.size == 1) axes.pop_back();
  return {size, stride};
}

}  // namespace

StridedView StridedView::dense(const Shape& shape) {
  const int64_t count = element_count(shape);
  return tidied({{count, 1}});
}

std::optional<StridedAxes> StridedView::walk(int64_t size, int64_t step) const {
  if (size == 1) return StridedAxes{};
  if (step == 0) return StridedAxes{{size, 0}};
  // The outermost axis of which the walk takes whole steps.
  size_t axis = axes.size();
  int64_t inner = 1;  // elements inside `axis`
  for (int64_t below = 1; axis > 0 && step % below == 0;) {
    inner = below;
    below *= axes[--axis].size;
  }
  if (axes.empty()) return std::nullopt;
  StridedAxes reversed;
  for (;; --axis) {
    const StridedAxis& along = axes[axis];
    const int64_t digits = step / inner;
    if ((size - 1) * digits < along.size) {
      reversed.push_back({size, digits * along.stride});
      break;
    }
    const int64_t turns = along.size / digits;  // before the next digit moves on
    if (axis == 0 || along.size % digits != 0 || size % turns != 0) return std::nullopt;
    if (turns > 1) reversed.push_back({turns, digits * along.stride});
    size /= turns;
    step = inner *= along.size;
  }
  return StridedAxes(reversed.rbegin(), reversed.rend());
}

bool is_view_op(const Op& op) {
  return std::holds_alternative<Permute>(op) || std::holds_alternative<Reshape>(op) ||
         std::holds_alternative<Unsqueeze>(op) || std::holds_alternative<Squeeze>(op) ||
         std::holds_alternative<BroadcastTo>(op);
}

std::optional<StridedView> moved(const StridedView& view, const Op& op, const Shape& in) {
  if (!is_view_op(op)) return std::nullopt;
  const Shape own = strides_of(in);
  if (const auto* permute = std::get_if<Permute>(&op)) {
    Shape sizes, steps;
    for (int64_t dim : permute->dims) {
      sizes.push_back(in[static_cast<size_t>(dim)]);
      steps.push_back(own[static_cast<size_t>(dim)]);
    }
    return restrided(view, sizes, steps);
  }
  if (const auto* broadcast = std::get_if<BroadcastTo>(&op))
    return restrided(view, broadcast->shape, broadcast_strides(in, broadcast->shape));
  return view;
}

bool cut_alike(std::span<StridedAxes> lists) {
  std::vector<StridedAxes> cut(lists.size());
  while (!lists[0].empty()) {
    int64_t size = lists[0].back().size;
    for (const StridedAxes& axes : lists) size = std::min(size, axes.back().size);
    for (const StridedAxes& axes : lists) {
      if (axes.back().size % size != 0) return false;
    }
    for (size_t i = 0; i < lists.size(); ++i) cut[i].push_back(take_innermost(lists[i], size));
  }
  for (size_t i = 0; i < lists.size(); ++i) lists[i].assign(cut[i].rbegin(), cut[i].rend());
  return true;
}

Shape inverse_dims(const Shape& dims) {
  Shape inverse(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) inverse[static_cast<size_t>(dims[i])] = static_cast<int64_t>(i);
  return inverse;
}

}  // namespace fusesmith::backends
