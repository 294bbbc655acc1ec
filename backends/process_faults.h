// Injected faults of a process: how a backend ends or blocks the process in which it runs. For tests of what
// survives that; `list faults` does not have them, because no judge sees them. Builds without faults have
// none.
#pragma once

#include <span>
#include <string_view>

#include "backends/faults.h"
#include "graph/graph.h"

namespace fusesmith::backends {

// Their names, which --faults takes, too.
std::span<const std::string_view> process_faults();

// Whether the graph is one in which they show: it has a gelu.
bool has_trigger(const Faults& faults, const Graph& graph);

// Whether the process has the GPU that fails with any graph: the variable FUSESMITH_SICK_GPU is a part of its
// UUID (default: "sick").
bool on_sick_gpu();

// Does what a fault of these that is turned on does, if the graph has their trigger.
void run_process_fault(const Faults& faults, const Graph& graph);

}  // namespace fusesmith::backends
