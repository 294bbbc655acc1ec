// For which sizes of its dimensions a case fails: a few sizes of each dimension first, then those that make a
// rule exact or refute it. A rule that some size passes by is kept only if other data agrees with it.
#pragma once

#include <vector>

#include "minimizer/neighbour_trials.h"
#include "minimizer/neighbours.h"

namespace fusesmith::minimizer {

// Of each dimension that has another size which fails or passes. `untried` gets the names of dimensions that
// the limits left no trials for, or only a few.
std::vector<SizeNeighbours> find_sizes(NeighbourTrials& trials, std::vector<std::string>& untried);

}  // namespace fusesmith::minimizer
