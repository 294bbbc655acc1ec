// The trait `axis_relations`: which axes of an op's inputs and outputs run along with each other, so that
// their elements may change places together. An axis that the op reduces, cuts or reads by its position is
// fixed. Metamorphic checks exchange elements along axes that are not. An op names a rule, or has a member
// function of the same signature.
#pragma once

#include <vector>

#include "graph/tensor.h"

namespace fusesmith::graph {

// Tensors of a node by number: its inputs, then its outputs.
struct TensorAxis {
  size_t tensor;
  int axis;
};

class AxisRelations {
 public:
  AxisRelations(TypeSpan inputs, TypeSpan outputs) : inputs_(inputs), outputs_(outputs) {}

  size_t inputs() const { return inputs_.size(); }
  size_t outputs() const { return outputs_.size(); }
  size_t out(size_t k = 0) const { return inputs_.size() + k; }
  const TensorType& type(size_t tensor) const;
  int rank(size_t tensor) const { return type(tensor).rank(); }
  int64_t size(size_t tensor, int axis) const { return type(tensor).shape[static_cast<size_t>(axis)]; }

  // The axes run along with each other. Ignored where their sizes differ: then the input repeats along it.
  void unite(size_t a, int axis_a, size_t b, int axis_b);
  void fix(size_t tensor, int axis) { fixed_.push_back({tensor, axis}); }
  // The axis counts among the rows or columns of a product, whose tiles may add up in different orders.
  void tile(size_t tensor, int axis) { tiled_.push_back({tensor, axis}); }
  // The axis of an operand of a product becomes rows or columns of the output, whose tiles may add up in
  // different orders: its elements may change places, but bits may change with them.
  void become_row(size_t operand, int axis, int output_axis);
  // A batch axis of a product's output, at operand axes of the same number plus `shifts`. If an operand lacks
  // it, it may be counted among the rows of the other.
  void batch(int axis, const std::vector<int>& shifts);
  // All axes, counted from the end, but for the last few of the input and of each output.
  void align(size_t input, int but_in = 0, int but_out = 0);

  const std::vector<std::pair<TensorAxis, TensorAxis>>& united() const { return united_; }
  const std::vector<TensorAxis>& fixed() const { return fixed_; }
  const std::vector<TensorAxis>& tiled() const { return tiled_; }

 private:
  TypeSpan inputs_, outputs_;
  std::vector<std::pair<TensorAxis, TensorAxis>> united_;
  std::vector<TensorAxis> fixed_, tiled_;
};

namespace axis_rules {

void broadcast(AxisRelations& axes);              // every input along with the output
void all_but(AxisRelations& axes, int64_t axis);  // one axis is cut, joined or read in another order
void reduced(AxisRelations& axes, const Shape& gone, bool keepdims);
void normalized(AxisRelations& axes, int first_fixed);  // over this axis and all later ones
void last_axis_normalized(AxisRelations& axes);
void row_major(AxisRelations& axes);  // the same elements in another shape
void fixed_outputs(AxisRelations& axes);

}  // namespace axis_rules

}  // namespace fusesmith::graph
