// Graphs of the pattern attention_backward.
#pragma once

#include <span>

#include "backends/rewrite/pattern.h"

namespace fusesmith::backends {

std::span<const GraphRecipe> attention_backward_examples();
std::span<const GraphRecipe> attention_backward_near_misses();

}  // namespace fusesmith::backends
