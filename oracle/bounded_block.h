// pass_on (oracle/bounded.h) for a block of ordinary elements at a time, in loops without branches that
// compilers vectorise.
#pragma once

#include <cstddef>

#include "graph/dtype.h"

namespace fusesmith::oracle {

inline constexpr size_t kBoundedBlock = 32;

// Sets v and e of kBoundedBlock elements to what pass_on(value, true, rounded, 0) makes of them, for a float
// dtype. False, with nothing changed, if an element is not finite, or may overflow.
bool pass_on_block(Dtype dtype, bool rounded, double* v, double* e);

}  // namespace fusesmith::oracle
