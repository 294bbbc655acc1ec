// Runs one step of a program: the regions in the plan's order, each by a function of the executor.
#pragma once

#include <functional>
#include <span>

#include "backends/backend.h"
#include "backends/common/placed_tensor.h"
#include "oracle/plan.h"

namespace fusesmith::backends {

// Reads region.inputs and sets region.outputs, both by ValueId. It may also set inner values of the
// region, which are discarded.
using RunRegion = std::function<void(const Region& region, std::span<TensorPtr> values)>;

// What a program knows of the memory of its sources that have a layout.
struct LayoutRuns {
  size_t count = 0;                       // runs so far; each fills the padding with another pattern
  const PlacedSources* placed = nullptr;  // of the run in progress; null if no source has a layout
  std::optional<ValueId> damaged;         // of the last run: a source around which memory was written
};

// `inputs`: the inputs in the graph's order, then the states. The trace contains these and every region
// output. Regions find dense copies of sources that have a layout, unless they look at `layouts.placed`.
Trace run_plan(const Graph& graph, const Plan& plan, std::span<const TensorPtr> inputs, LayoutRuns& layouts,
               const RunRegion& run_region);

// Runs the program twice more. Returns the first region whose outputs differ from `trace`, or that wrote
// around a source.
std::optional<Disagreement> repeat_plan(Program& program, const Graph& graph,
                                        std::span<const TensorPtr> inputs, const Trace& trace,
                                        LayoutRuns& layouts);

}  // namespace fusesmith::backends
