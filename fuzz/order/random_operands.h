// Random operands of a product that show in which order its terms are added.
#pragma once

#include "fuzz/order/sum_kernel.h"

namespace fusesmith::fuzz {

// Fills a [rows, terms] and b [terms, columns] with values of the dtype. `has_products`: else b is 1
// everywhere.
void fill_random(ProductData data, uint64_t seed, bool has_products, Operands& operands);

}  // namespace fusesmith::fuzz
