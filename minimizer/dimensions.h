// Dimensions: which axes of a graph must have one size, found by asking shape inference what it accepts, so
// that ops need no declaration for it; only attributes that name sizes (reshape, broadcast_to, slice, arange,
// causal_mask) and axes that are sums of others (concat, chunk, rope) are known here.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace fusesmith::minimizer {

struct Dimension {
  ValueId value;  // the first value that has it
  int axis;
  int64_t size;
};

class Dimensions {
 public:
  explicit Dimensions(const Graph& graph);

  // Each dimension once, in order of its first value.
  std::vector<Dimension> all() const;
  // The shape of every value, by ValueId, when this dimension gets another size and all that follows from it
  // moves along: equal axes, factors of reshapes, slices that would reach too far. Nothing when no such
  // shapes were found.
  std::optional<std::vector<Shape>> resized(ValueId value, int axis, int64_t size) const;

 private:
  struct Product {  // of a reshape: both sides have the same product
    std::vector<int> left, right;
  };
  struct Cut {  // a slice: out elements, `step` apart, of an axis
    int in, out;
    int64_t step;
  };
  struct Sum {  // an axis that is as long as its parts together
    std::vector<int> parts;
    int whole;
  };
  struct Sizes;

  int find(int id) const;
  int id(ValueId value, int axis) const { return first_[static_cast<size_t>(value)] + axis; }
  void unite(int a, int b);
  void link(const Graph& graph, const Node& node);
  // But for the last axes of all operands where `last_axes` is false.
  void link_by_inference(const Graph& graph, const Node& node, bool last_axes = true);
  // The axis of `whole` is that of the parts together; all others are equal.
  void link_parts(ValueId whole, const std::vector<ValueId>& parts, int axis, int rank);
  void link_rope(const Graph& graph, const Node& node, const Rope& op);
  void link_reshape(const Node& node, const Shape& in, const Shape& out);
  void link_slice(const Node& node, const Slice& op, const Shape& in);
  std::vector<int> resolved(const std::vector<int>& ids) const;

  std::vector<int> first_;    // id of axis 0, by value
  std::vector<int> parents_;  // union-find over ids
  std::vector<int64_t> sizes_;
  std::vector<bool> rigid_;  // inference accepts no other size
  std::vector<Product> products_;
  std::vector<Cut> cuts_;
  std::vector<Sum> sums_;
};

}  // namespace fusesmith::minimizer
