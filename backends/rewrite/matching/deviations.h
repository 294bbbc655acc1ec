// Contract entries that several patterns share.
#pragma once

#include "graph/graph.h"
#include "oracle/contract.h"

namespace fusesmith::backends {

// Declares that the node's (first) value stays in f32, if it is a 16-bit value that the node rounds: movement
// and select ops round nothing, and the rounding of an explicit cast is always performed.
inline void drop_rounding(Contract& contract, const Graph& graph, int n) {
  const Node& node = graph.nodes()[static_cast<size_t>(n)];
  const Dtype dtype = graph.type(node.first_output).dtype;
  const OpClass op_class = info(node.op).op_class;
  if (!is_narrow(dtype) || op_class == OpClass::movement || op_class == OpClass::select ||
      std::holds_alternative<Cast>(node.op)) {
    return;
  }
  contract.deviations.push_back({Deviation::Kind::drop, graph.name(node.first_output), dtype, 0,
                                 "stays in f32 inside the fused kernel"});
}

}  // namespace fusesmith::backends
