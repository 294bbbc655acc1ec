// Other data for a case, to tell a failure that depends on the case's sizes from one that depends on its
// data.
#pragma once

#include <cstdint>

#include "graph/case.h"

namespace fusesmith::minimizer {

enum class DataKind {
  alike,   // as in the case, drawn anew: literals from their own values, those that are special more often
  normal,  // floats of a normal distribution, of deviation 1
  small,   // 1/8
};
inline constexpr DataKind kDataKinds[] = {DataKind::alike, DataKind::normal, DataKind::small};

// Equal draws of one kind give equal data. `origin`: the case that this one is a neighbour of; where literals
// were cropped, what is alike has the values that were there.
Case with_data(const Case& test_case, const Case& origin, DataKind kind, uint64_t draw);

}  // namespace fusesmith::minimizer
