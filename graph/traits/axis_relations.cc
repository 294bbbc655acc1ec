#include "graph/traits/axis_relations.h"

#include <algorithm>

#include "graph/ops/reduction.h"

namespace fusesmith::graph {

const TensorType& AxisRelations::type(size_t tensor) const {
  return tensor < inputs_.size() ? inputs_[tensor] : outputs_[tensor - inputs_.size()];
}

void AxisRelations::unite(size_t a, int axis_a, size_t b, int axis_b) {
  if (size(a, axis_a) == size(b, axis_b)) united_.push_back({{a, axis_a}, {b, axis_b}});
}

void AxisRelations::become_row(size_t operand, int axis, int output_axis) {
  unite(operand, axis, out(), output_axis);
  tiled_.push_back({out(), output_axis});
}

void AxisRelations::batch(int axis, const std::vector<int>& shifts) {
  for (size_t i = 0; i < shifts.size(); ++i) {
    const int own = axis + shifts[i];
    if (own < 0 || size(i, own) != size(out(), axis)) tiled_.push_back({out(), axis});
  }
}

void AxisRelations::align(size_t input, int but_in, int but_out) {
  int from = rank(input) - 1 - but_in, to = rank(out()) - 1 - but_out;
  for (; from >= 0 && to >= 0; --from, --to) {
    for (size_t k = 0; k < outputs(); ++k) unite(input, from, out(k), to);
  }
}

namespace axis_rules {

void broadcast(AxisRelations& axes) {
  for (size_t i = 0; i < axes.inputs(); ++i) axes.align(i);
}

void all_but(AxisRelations& axes, int64_t axis) {
  const int cut = *resolve_axis(axis, axes.rank(axes.out()));
  for (size_t i = 0; i < axes.inputs(); ++i) {
    axes.fix(i, cut);
    for (size_t k = 0; k < axes.outputs(); ++k) {
      axes.fix(axes.out(k), cut);
      for (int other = 0; other < axes.rank(axes.out()); ++other) {
        if (other != cut) axes.unite(i, other, axes.out(k), other);
      }
    }
  }
}

void reduced(AxisRelations& axes, const Shape& gone, bool keepdims) {
  const std::vector<int> resolved = *resolve_axes(gone, axes.rank(0));
  int to = 0;
  for (int axis = 0; axis < axes.rank(0); ++axis) {
    if (std::binary_search(resolved.begin(), resolved.end(), axis)) {
      axes.fix(0, axis);
      to += keepdims;
      continue;
    }
    for (size_t k = 0; k < axes.outputs(); ++k) axes.unite(0, axis, axes.out(k), to);
    ++to;
  }
}

void normalized(AxisRelations& axes, int first_fixed) {
  axes.align(0);
  for (int axis = first_fixed; axis < axes.rank(axes.out()); ++axis) axes.fix(axes.out(), axis);
  for (size_t i = 1; i < axes.inputs(); ++i) axes.fix(i, 0);
}

void last_axis_normalized(AxisRelations& axes) { normalized(axes, axes.rank(axes.out()) - 1); }

// Axes with as many elements before and behind them run along with each other.
void row_major(AxisRelations& axes) {
  const Shape &from = axes.type(0).shape, &to = axes.type(axes.out()).shape;
  const Shape from_strides = strides_of(from), to_strides = strides_of(to);
  std::vector<bool> kept(to.size(), false);
  for (size_t i = 0; i < from.size(); ++i) {
    bool found = from[i] == 1;
    for (size_t j = 0; j < to.size() && !found; ++j) {
      found = from[i] == to[j] && from_strides[i] == to_strides[j];
      if (!found) continue;
      axes.unite(0, static_cast<int>(i), axes.out(), static_cast<int>(j));
      kept[j] = true;
    }
    if (!found) axes.fix(0, static_cast<int>(i));
  }
  for (size_t j = 0; j < to.size(); ++j) {
    if (!kept[j]) axes.fix(axes.out(), static_cast<int>(j));
  }
}

void fixed_outputs(AxisRelations& axes) {
  for (int axis = 0; axis < axes.rank(axes.out()); ++axis) axes.fix(axes.out(), axis);
}

}  // namespace axis_rules
}  // namespace fusesmith::graph
