// Other ways to compute an op that libraries are known to use: graphs of simpler ops, whose inner values are
// rounded to their dtypes. A contract names those that a backend may use. The judge tries the op itself
// first.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "graph/graph.h"
#include "oracle/contract.h"

namespace fusesmith::oracle {

struct Lowering {
  const char* name;  // the op, a dot, and how it is computed
  const char* doc;
  // The graph, whose first inputs are those of the op; further inputs are constants. Its outputs have the
  // types of the op's. Nothing if the lowering does not apply to these attributes and types, or if it has no
  // rounding that the op lacks.
  std::optional<Graph> (*graph)(const Op& op, TypeSpan inputs);
  bool narrow_sums;  // reduce_sum rounds each partial sum to the dtype
  const char* who;   // a published definition, or libraries, that compute so; empty: a loss that none intends
  // Its rounded values may be far larger than the result, so that its bounds may allow any mistake.
  bool needs_decision = false;
  // Of all elements or of none: what mixes both is wrong.
  bool is_uniform = false;
  // Customary in functions and plug-ins. Workers state it in their contracts, since they are given graphs
  // that say otherwise.
  bool of_kernels = false;
};

std::span<const Lowering> lowerings();
// Null if there is none of this name.
const Lowering* find_lowering(std::string_view name);

// Adds to the contract that the node may be computed so. Whether that is possible, and changes anything.
bool allow_lowering(Contract& contract, const Graph& graph, const Node& node, const Lowering& lowering);
// Adds that so many values inside the op may be rounded to its 16-bit dtype.
bool allow_inner_roundings(Contract& contract, const Graph& graph, const Node& node, int count);

}  // namespace fusesmith::oracle
