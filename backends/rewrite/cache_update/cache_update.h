// What the files of cache_update_in_place share.
#pragma once

#include <span>

#include "backends/rewrite/pattern.h"

namespace fusesmith::backends {

std::span<const GraphRecipe> cache_update_examples();
std::span<const GraphRecipe> cache_update_near_misses();

// An i32 vector that sources and movements alone make, evaluated, and the nodes that make it, earliest first.
struct ConstantIndices {
  std::vector<int32_t> values;
  std::vector<int> nodes;
};
// Nothing for any other value.
std::optional<ConstantIndices> constant_indices(const Graph& graph, ValueId value);

}  // namespace fusesmith::backends
