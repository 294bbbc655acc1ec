// The bounded reference of every op: v in f64 and the bound e (docs/bounds.md), given bounded inputs.
// There is one overload for each op struct, called through std::visit, so that an op without a reference
// does not compile. Overloads return the result before its last rounding, which bounded.h applies. Each
// overload documents its formula and source.
#pragma once

#include <span>

#include "graph/op.h"
#include "oracle/bounded.h"
#include "oracle/contract.h"

namespace fusesmith::oracle {

using BoundedSpan = std::span<const Bounded* const>;

// All outputs of the op. Composite ops are evaluated through their expansion (evaluate.h), never here.
std::vector<Bounded> reference(const Op& op, BoundedSpan inputs, TypeSpan outputs,
                               const Arithmetic& arithmetic);

// Whether the op computes new values, which are rounded, rather than moving, selecting or listing values.
bool computes(const Op& op);

}  // namespace fusesmith::oracle
