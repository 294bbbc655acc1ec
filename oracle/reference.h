// The bounded reference of every op: v in f64 and the bound e of DESIGN's table, given bounded inputs. One
// overload per op struct (reference/ops.h). The overloads return the result before its last rounding
// (bounded.h does that). Formulas and their sources stand at the overloads.
#pragma once

#include <span>

#include "graph/op.h"
#include "oracle/bounded.h"
#include "oracle/contract.h"

namespace fusesmith::oracle {

using BoundedSpan = std::span<const Bounded* const>;

// Every output; composite ops are evaluated through their expansion (evaluate.h), never here.
std::vector<Bounded> reference(const Op& op, BoundedSpan inputs, TypeSpan outputs,
                               const Arithmetic& arithmetic);

// Whether the op computes new values, which round, or only moves, chooses or lists values.
bool computes(const Op& op);

}  // namespace fusesmith::oracle
