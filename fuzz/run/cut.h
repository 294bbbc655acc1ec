// Part of a graph by itself, on values of one's choice: what explain's experiments run. Unlike a region
// extracted for a case file it keeps no data but indices, so that a graph of any size can be cut often.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "fuzz/run/run_case.h"

namespace fusesmith::fuzz {

struct Cut {
  Graph graph;
  std::vector<int> nodes;         // by node of the cut: its number in the whole graph
  std::vector<ValueId> in_whole;  // by ValueId of the cut: that value in the whole graph
};

// The nodes (by number) alone, under the names they had. What they read from outside becomes an input.
// Outputs are as in a case file (minimizer/extract.h): what was read outside, observed, or not read at all.
// `values`, by ValueId of the whole graph, must hold every i32 value that becomes an input (graphs refuse
// indices of which nothing is known), else nothing.
std::optional<Cut> cut(const Graph& graph, const std::set<int>& nodes, std::span<const TensorPtr> values);

// The nodes that read one of the values, or what follows from it.
std::set<int> nodes_after(const Graph& graph, std::span<const ValueId> values);

// One of the two sides of a judged case, to run parts of its graph.
struct Side {
  const Backend* backend;
  CompileOptions options;
  const Program* program;  // of the whole graph
  const Trace* trace;      // what it left in memory

  const Plan& plan() const { return program->plan(); }
};

// Runs the cut on `values` (by ValueId of the whole graph) with one side's kernels; what it computed, by
// ValueId of the whole graph, null elsewhere. The problem says why not: a value is missing, the backend
// cannot, or (`as_planned`) it cuts these nodes into other regions than in the whole graph.
Result<std::vector<TensorPtr>> run_cut(const Graph& whole, const Cut& cut, const Side& side,
                                       std::span<const TensorPtr> values, bool as_planned);

}  // namespace fusesmith::fuzz
