// The order of the values that a dtype can store.
#pragma once

#include <cstdint>

#include "graph/dtype.h"

namespace fusesmith::oracle {

// The place of a finite stored value among all finite values of the dtype, 0 for zero; of integers the value
// itself. Two stored values lie |ordinal(a) - ordinal(b)| ulps apart.
int64_t ordinal(Dtype dtype, double stored);

}  // namespace fusesmith::oracle
