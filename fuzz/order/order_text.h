// Orders as text.
#pragma once

#include <string>

#include "fuzz/order/find_orders.h"

namespace fusesmith::fuzz {

// Some lines about one backend.
std::string order_text(const BackendOrder& order);

// Whether both add alike, in one line.
std::string comparison_text(const BackendOrder& a, const BackendOrder& b);

}  // namespace fusesmith::fuzz
