// One side of a judged case, to run parts of its graph with that side's kernels: what the experiments of
// explain are made of.
#pragma once

#include "fuzz/run/run_case.h"
#include "graph/subgraph.h"

namespace fusesmith::fuzz {

// With which both sides of a case compile its graph; the case has the options (with_options).
CompileOptions compile_options(const Case& test_case, const RunOptions& options);

struct Side {
  const Backend* backend;
  CompileOptions options;
  const Program* program;  // of the whole graph
  const Trace* trace;      // what it left in memory

  const Plan& plan() const { return program->plan(); }
};

// Runs the part on `values` (by ValueId of the whole graph); what it computed, by ValueId of the whole graph,
// null elsewhere. The problem says why not: a value is missing, the backend cannot, or (`as_planned`) it
// makes other regions of these nodes than in the whole graph.
Result<std::vector<TensorPtr>> run_part(const Graph& whole, const Subgraph& part, const Side& side,
                                        std::span<const TensorPtr> values, bool as_planned);

}  // namespace fusesmith::fuzz
