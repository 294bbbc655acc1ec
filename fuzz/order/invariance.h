// Whether the results of a product or sum depend on how many rows it has: the proof that a kernel is batch
// invariant, for all data of these shapes.
#pragma once

#include <span>
#include <string>

#include "fuzz/order/find_orders.h"

namespace fusesmith::fuzz {

struct OrderOfRows {
  int64_t rows = 0;  // SumSpec::m
  BackendOrder order;
};

// Empty where every result of a column is added along one tree with one arithmetic, whatever its row and the
// number of rows: then its bits depend on its terms alone. Else what is not known, or the first result that
// differs, in one line. `n`: columns.
std::string dependence_on_rows(std::span<const OrderOfRows> orders, int64_t n);

// "cpu is batch invariant here: ...".
std::string invariance_text(std::span<const OrderOfRows> orders, int64_t n);

}  // namespace fusesmith::fuzz
