// The graphs of permute_folding.
#pragma once

#include "backends/rewrite/pattern.h"

namespace fusesmith::backends {

std::span<const GraphRecipe> permute_folding_examples();
std::span<const GraphRecipe> permute_folding_near_misses();

}  // namespace fusesmith::backends
