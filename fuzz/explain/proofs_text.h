// What the proofs of orders (fuzz/order/order_proof.h) show.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fuzz/order/order_proof.h"

namespace fusesmith::fuzz {

// " Emulating the order ...": the proofs that hold on both sides; empty: none does.
std::string proofs_sentence(const OrderProofs& orders);
// Cut to `columns`; empty without proofs.
std::string proofs_table(const OrderProofs& orders, size_t columns);

}  // namespace fusesmith::fuzz
