// The traits of a defined op, which follow from those of the ops in its formula.
#pragma once

#include "graph/graph.h"
#include "graph/op_traits.h"

namespace fusesmith::graph::formula_traits {

// `formula`: the expansion of the op (graph/expand.h). The other arguments are those of the functions of
// op_traits.h.

Work work(const Graph& formula);
Magnitude magnitude(const Graph& formula, std::span<const Magnitude> inputs);
std::optional<Grid> grid(const Graph& formula, std::span<const Grid> inputs);
OutputForms scaling(const Graph& formula, ScalingNode& node);
void axis_relations(const Graph& formula, AxisRelations& axes);

}  // namespace fusesmith::graph::formula_traits
