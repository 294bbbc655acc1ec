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

// The name of the one of them that is turned on and shows in the graph, or nothing. It shows in a graph that
// has a gelu; with the variable FUSESMITH_FAULT_EVERY=N only in one of N of these, which depends on the graph
// alone. Of several faults that are turned on, the first in process_faults() shows; with the variable, which
// one does depends on the graph, too.
std::string_view shown_process_fault(const Faults& faults, const Graph& graph);

// Whether the process has the GPU that fails with any graph: the variable FUSESMITH_SICK_GPU is a part of its
// UUID (default: "sick").
bool on_sick_gpu();

// Does what the fault that shows in the graph does to a process, if any.
void run_process_fault(const Faults& faults, const Graph& graph);

}  // namespace fusesmith::backends
