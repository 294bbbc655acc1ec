// How far two runs of one case are apart, region by region: what replay and explain show beside each
// backend's own errors.
#pragma once

#include <vector>

#include "fuzz/run/run_case.h"
#include "oracle/difference.h"

namespace fusesmith::fuzz {

// For each region of the run's candidate: its outputs against the same values in the baseline's trace, as far
// as both backends left them in memory. Empty for a run without programs.
std::vector<Difference> region_differences(const CaseRun& run);

}  // namespace fusesmith::fuzz
