// Any op as a function of values of a formula, for what is written in terms of ops: gradients.
#pragma once

#include "graph/formula.h"
#include "graph/graph.h"

namespace fusesmith::graph {

// The first output. The operands, at least one, are values of one builder.
Var apply(Op op, const Vars& operands);

}  // namespace fusesmith::graph
