// The execution order of the regions of a plan.
#pragma once

#include "backends/rewrite/rewrite.h"

namespace fusesmith::backends {

// The state in whose memory the region writes, if any.
std::optional<ValueId> overwritten_state(const FusedRegion& fused);

// Places of the regions in an order in which they can run: after what makes their inputs, and, where a region
// overwrites a state, after all others that read it (not with `old_values_lost`, which is a fault). Of those
// that can run next, the one whose last node comes first. Regions that wait for each other are left out.
std::vector<size_t> runnable_order(const Graph& graph, const std::vector<FusedRegion>& regions,
                                   bool old_values_lost);

}  // namespace fusesmith::backends
