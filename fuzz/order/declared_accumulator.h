// The contract key `accumulator` that describes a revealed order.
#pragma once

#include <optional>

#include "fuzz/order/order.h"
#include "oracle/contract.h"

namespace fusesmith::fuzz {

// Of groups of consecutive terms, each added at once to the accumulator, in parts of `promote_every` terms
// whose sums are added in f32, one after the other (0: there is one part). Nothing for other orders, and
// where no group is followed by another one, so that its size is not known.
std::optional<oracle::Accumulator> accumulator_of(const Order& order);

}  // namespace fusesmith::fuzz
