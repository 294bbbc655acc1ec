// The plan that a worker answers to `compile`: regions of the graph with their contracts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "graph/result.h"
#include "oracle/plan.h"

namespace fusesmith::backends {

// The problem names the place and what was expected there: a node that is missing or in two regions, regions
// in an order in which they cannot run, an unknown key or a number out of range.
Result<Plan> parse_plan(const Graph& graph, const nlohmann::json& reply);

// What a function of others may do that says nothing of itself, as the contract of a reply; the same as in
// python/workers/function/function_worker.py.
nlohmann::json contract_of_functions();

// What a contract grants beyond correctly rounded or glibc's functions and two-pass variances, by the keys of
// docs/workers.md: "div 4, exp 20 (units of 2^-24), variance two_pass_or_welford". Empty: nothing.
std::string granted_text(const Contract& contract);

}  // namespace fusesmith::backends
