// The scalar functions that are measured on backends: ops of one element, as graphs of one node.
#pragma once

#include <span>
#include <string_view>

#include "graph/graph.h"

namespace fusesmith::fuzz {

struct ScalarFunction {
  enum class Trend : uint8_t { none, rising, falling };  // falling: for each sign of x

  std::string_view name;
  Op op;
  Trend trend = Trend::none;
  bool is_quotient = false;  // the op divides 1 by x
  // The result is x/2 times a sum that cancels: its error is measured against x/2 where that is larger.
  bool of_half_x = false;
};

// The one list.
std::span<const ScalarFunction> scalar_functions();

// The function of `count` elements. Its last input is x; the one before it, if there is one, is 1.
Graph graph_of(const ScalarFunction& function, Dtype dtype, int64_t count);

}  // namespace fusesmith::fuzz
