// Products of a judged case, each held against the order of additions of its backend: where that order is
// known, an element has one correct bit pattern, however wide the bound is that the judge grants it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "fuzz/order/order_proof.h"
#include "fuzz/run/judging.h"

namespace fusesmith::fuzz {

// Of every product of the plans, the baseline's first; empty where the case did not run. Orders are revealed
// for `seconds`, and kept in the cache. What the backends throw is as OrderProver has it.
std::vector<OrderProof> judge_orders(const Case& test_case, const CaseRun& run, const Judging& judging,
                                     OrderCache& cache, double seconds);

// A table, and a line for each product whose order is broken; empty without products.
std::string judged_orders_text(const std::vector<OrderProof>& proofs, size_t columns);
// The proofs, with `broken` and the element that shows it where one is.
nlohmann::ordered_json judged_orders_json(const std::vector<OrderProof>& proofs);

}  // namespace fusesmith::fuzz
