// Symmetries of a graph, found from its ops alone: changes of the inputs whose effect on every value is known
// without computing it. Powers of two that scale every value by a power of two; and axes along which elements
// may change places, all values with them (batch elements, heads, rows).
#pragma once

#include <optional>
#include <vector>

#include "fuzz/base/choices.h"
#include "graph/graph.h"

namespace fusesmith::fuzz {

// By ValueId: the value is scaled by 2^exponent. Rounding does not notice, as long as nothing leaves the
// range of normal numbers. At least one is not 0, none is beyond +-`limit`; nothing where the graph, or this
// draw, has no such scaling.
using Scaling = std::vector<int>;
std::optional<Scaling> draw_scaling(const Graph& graph, Choices& choices, int limit = 8);

struct Exchange {
  std::vector<int> axes;  // by ValueId: the axis along which its elements change places, -1 where none do
  int64_t size = 0;       // of all these axes
  // Whether every executor must give the same bits again: no op mixes the places, or counts them among the
  // rows or columns of a product, whose tiles may add in other orders.
  bool bit_for_bit = true;
};
// Every set of axes of more than one element that belong together; none in graphs with states.
std::vector<Exchange> exchanges_of(const Graph& graph);

}  // namespace fusesmith::fuzz
