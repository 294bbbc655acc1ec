// Rough sizes of drawn data (graph/traits/magnitude.h).
#pragma once

#include "graph/fill.h"
#include "graph/op_traits.h"

namespace fusesmith::fuzz {

Magnitude magnitude_of(const Fill& fill);

}  // namespace fusesmith::fuzz
