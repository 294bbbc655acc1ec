// Runs one step of a program: the regions in the plan's order, each by a function of the executor.
#pragma once

#include <functional>
#include <span>

#include "backends/backend.h"
#include "oracle/plan.h"

namespace fusesmith::backends {

// Reads region.inputs and sets region.outputs, both by ValueId. It may also set inner values of the
// region, which are discarded.
using RunRegion = std::function<void(const Region& region, std::span<TensorPtr> values)>;

// `inputs`: the inputs in the graph's order, then the states. The trace contains these and every region
// output.
Trace run_plan(const Graph& graph, const Plan& plan, std::span<const TensorPtr> inputs,
               const RunRegion& run_region);

// Runs the program twice more. Returns the first region whose outputs differ from `trace`.
std::optional<Disagreement> repeat_plan(Program& program, std::span<const TensorPtr> inputs,
                                        const Trace& trace);

}  // namespace fusesmith::backends
