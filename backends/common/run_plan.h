// One step of a program: regions in the plan's order, each by the executor's own means.
#pragma once

#include <functional>
#include <span>

#include "backends/backend.h"
#include "oracle/plan.h"

namespace fusesmith::backends {

// Reads region.inputs and sets region.outputs, both by ValueId; it may set inner values of the region too,
// they are forgotten.
using RunRegion = std::function<void(const Region& region, std::span<TensorPtr> values)>;

// Inputs as the graph lists them, then states. The trace holds them and every region output, nothing else.
Trace run_plan(const Graph& graph, const Plan& plan, std::span<const TensorPtr> inputs,
               const RunRegion& run_region);

// The same again, twice: the first region whose outputs are other bits than those of `trace`.
std::optional<Disagreement> repeat_plan(Program& program, std::span<const TensorPtr> inputs,
                                        const Trace& trace);

}  // namespace fusesmith::backends
