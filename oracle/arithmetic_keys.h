// The keys by which contracts of workers, and reports, name what an Arithmetic holds (docs/workers.md).
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>

#include "oracle/contract.h"

namespace fusesmith::oracle {

// The functions whose errors a contract may state, in units of 2^-24.
const std::map<std::string, double Arithmetic::*>& function_errors();
const std::map<std::string, bool Arithmetic::*>& arithmetic_flags();
const std::map<std::string, Arithmetic::Variance>& variance_forms();

// The keys inside of the key `accumulator`, and it as JSON.
std::span<const std::pair<const char*, int Accumulator::*>> accumulator_keys();
std::string to_json(const Accumulator& accumulator);

}  // namespace fusesmith::oracle
