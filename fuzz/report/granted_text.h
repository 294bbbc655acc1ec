// What the contracts of workers grant, for people who read a verdict: a looser contract accepts more.
#pragma once

#include <map>
#include <string>

#include "fuzz/run/run_case.h"

namespace fusesmith::fuzz {

// By the name of each backend that is a worker and says more than the usual errors: what its contract grants,
// by the keys of docs/workers.md.
std::map<std::string, std::string> granted(const CaseRun& run);
// A line for each of these; empty if there is none.
std::string granted_lines(const CaseRun& run);

}  // namespace fusesmith::fuzz
