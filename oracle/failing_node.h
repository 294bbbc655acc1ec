// Which node of a region a failure is about.
#pragma once

#include <optional>

#include "graph/graph.h"
#include "oracle/plan.h"
#include "oracle/verdict.h"

namespace fusesmith::oracle {

// The node of an opaque program that tells its failures apart, since it is one region in all: the one that
// computes the failing value, or the cast whose rounding is skipped, whichever ops read it.
std::optional<int> failing_node(const Graph& graph, const RegionVerdict& verdict);

}  // namespace fusesmith::oracle
