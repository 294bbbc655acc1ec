// Slices of a tensor replaced, at indices that are data: how a KV cache is updated.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct IndexCopy {
  int64_t axis = 0;

  static constexpr OpInfo info{"index_copy",
                               "x with slice index[i] along the axis replaced by slice i of source; indices "
                               "must be provably in range and distinct.",
                               3, 3, OpClass::movement};
  static constexpr auto fields() { return std::tuple{Field{"axis", &IndexCopy::axis, Axis{}, true}}; }
  bool operator==(const IndexCopy&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static std::optional<Grid> grid(const GridOperands& x) { return grid_rules::joined(x.in[0], x.in[2]); }
  static OutputForms scaling(ScalingNode& node) {
    node.equal(node.in(0), node.in(2));
    return {node.in(0)};
  }
  void axis_relations(AxisRelations& axes) const {
    const int copied = *resolve_axis(axis, axes.rank(0));
    for (size_t i : {size_t{0}, size_t{2}, axes.out()}) {
      for (int other = 0; other < axes.rank(0); ++other) {
        if (other != copied) axes.unite(i, other, axes.out(), other);
      }
      axes.fix(i, copied);
    }
    axes.fix(1, 0);
  }
};

// x [..., n, ...], index i32[k], source [..., k, ...] of the dtype of x -> the type of x; k <= n.
inline Result<Types> infer(const IndexCopy& op, TypeSpan inputs) {
  const TensorType &x = inputs[0], &index = inputs[1];
  const auto axis = resolve_axis(op.axis, x.rank());
  if (!axis) return Problem{axis.problem()};
  if (index.dtype != Dtype::i32 || index.rank() != 1)
    return expected("indices i32[k], got " + to_string(index));
  TensorType source = x;
  int64_t& size = source.shape[static_cast<size_t>(*axis)];
  if (index.shape[0] > size)
    return expected("at most " + std::to_string(size) + " indices, got " + to_string(index));
  size = index.shape[0];
  if (inputs[2] != source) return expected("a source " + to_string(source) + ", got " + to_string(inputs[2]));
  return one(x);
}

}  // namespace fusesmith::graph
