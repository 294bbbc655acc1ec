// The graph compiler under test: divides a graph into fused regions. Independent of devices; executors run
// its plans.
#pragma once

#include <vector>

#include "backends/backend.h"
#include "backends/rewrite/fused_op.h"
#include "backends/rewrite/pattern.h"
#include "oracle/plan.h"

namespace fusesmith::backends {

struct FusedRegion {
  Region region;
  FusedOp op;
};

// Every node in exactly one region: patterns claim nodes in the list's order, what is left becomes single
// nodes. Regions stand in an order in which they can run; of those that can run next, the one whose last node
// comes first. `arithmetic`: worst errors of the executor's scalar functions, for the contracts. `refusals`,
// where given, receives every match that a guard refused.
std::vector<FusedRegion> rewrite(const Graph& graph, const CompileOptions& options,
                                 const Arithmetic& arithmetic = {}, std::vector<Refusal>* refusals = nullptr);

}  // namespace fusesmith::backends
