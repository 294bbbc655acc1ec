// Other data for a case, to tell a failure that depends on the case's sizes from one that depends on its
// data.
#pragma once

#include <cstdint>

#include "graph/case.h"

namespace fusesmith::minimizer {

enum class DataKind {
  alike,   // drawn anew as in the case; literals from their own values, special ones more often now and then
  normal,  // floats of a normal distribution, of deviation 1
  small,   // 1/8
  resampled,  // all drawn from the values of the case, those that are special more often
  near,       // each float of the case times a factor of 15/16 to 17/16
};

// Equal draws of one kind give equal data. `origin`: the case that this one is a neighbour of; where literals
// were cropped, what is alike has the values that were there.
Case with_data(const Case& test_case, const Case& origin, DataKind kind, uint64_t draw);

}  // namespace fusesmith::minimizer
