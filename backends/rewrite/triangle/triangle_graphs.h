// The graphs of triangle_multiplication.
#pragma once

#include "backends/rewrite/pattern.h"

namespace fusesmith::backends {

std::span<const GraphRecipe> triangle_examples();
std::span<const GraphRecipe> triangle_near_misses();

}  // namespace fusesmith::backends
