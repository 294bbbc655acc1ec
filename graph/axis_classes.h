// Axes of a whole graph that run along with each other, found op by op from the trait `axis_relations`.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace fusesmith::graph {

struct ValueAxis {
  ValueId value;
  int axis;
  bool operator==(const ValueAxis&) const = default;
};

// Axes of one size, along which the element at a place depends only on elements at that place.
struct AxisClass {
  std::vector<ValueAxis> axes;  // by value, then by axis
  int64_t size = 1;
  bool fixed = false;  // not so: an op reduces, cuts or reads one of them by its position
  bool tiled = false;  // one of them counts among the rows or columns of a product
};

// Every axis of every value is in one class.
std::vector<AxisClass> axis_classes(const Graph& graph);

}  // namespace fusesmith::graph
