// Part of a graph by itself: which values cross its boundary, and the nodes as a graph or a case of their
// own. Nodes are given by number, in graph order.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/case.h"

namespace fusesmith::graph {

struct Boundary {
  std::vector<ValueId> inputs;   // read from outside, each once, in order of first use
  std::vector<ValueId> outputs;  // read outside, observed, or not read at all
};
Boundary boundary_of(const Graph& graph, std::span<const int> nodes);

// The nodes that read one of the values, or what follows from it.
std::vector<int> nodes_after(const Graph& graph, std::span<const ValueId> values);

// The nodes, and those that compute what they read.
std::vector<int> with_producers(const Graph& graph, std::span<const int> nodes);

struct Subgraph {
  Graph graph;
  std::vector<int> nodes;         // by node of the subgraph: its number in the whole graph
  std::vector<ValueId> in_whole;  // by ValueId of the subgraph: that value in the whole graph
};

// What a value read from outside becomes: an input with this fill, or a state whose next value is `next`.
struct Source {
  Fill fill;
  std::optional<ValueId> next = {};
  Shape repeat = {};
};

// The nodes alone, under the names they had; inputs and states keep their layouts. `source_of` is asked once
// for each value read from outside. Nothing where it gives nothing, or where the parts are not a valid graph.
std::optional<Subgraph> subgraph(const Graph& graph, std::span<const int> nodes,
                                 std::span<const ValueId> outputs,
                                 const std::function<std::optional<Source>(ValueId)>& source_of);

// Values by ValueId of the whole graph, null where not known.
using ValueBits = std::span<const std::shared_ptr<const Tensor>>;

// To be run on values of one's choice: keeps no data but indices, so that a graph of any size can be cut
// often. `values` must hold every i32 value that becomes an input (a graph refuses indices of which nothing
// is known), else nothing.
std::optional<Subgraph> subgraph_without_data(const Graph& graph, std::span<const int> nodes,
                                              ValueBits values);

// A case of one step of these nodes (any order), on the inputs that they really got. What they read from
// outside becomes a literal with the bits in `values` (of one step), but inputs of a case of one step keep
// their recipe, a state that the nodes carry on stays a state, and short chains made from attributes alone
// (masks, positions) stay nodes. Nothing when needed bits are missing.
std::optional<Case> extract_region(const Case& test_case, std::span<const int> nodes, ValueBits values);

}  // namespace fusesmith::graph
