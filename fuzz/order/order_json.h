// Orders as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "fuzz/order/find_orders.h"
#include "fuzz/order/order_proof.h"

namespace fusesmith::fuzz {

// {"nodes": [{"children": [0, 1], "terms": [[first, step, count], ...], "group": 16, "rounds_products":
// true}, ...]}; what has its default is left out.
nlohmann::ordered_json sum_tree_json(const SumTree& tree);
// Refuses what is no tree of the terms 0, 1, ..., n - 1.
Result<SumTree> parse_sum_tree(std::string_view text);

nlohmann::ordered_json order_json(const BackendOrder& order);
nlohmann::ordered_json proof_json(const OrderProof& proof);

}  // namespace fusesmith::fuzz
