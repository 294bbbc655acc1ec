// A verdict as JSON: verdict.json of a finding, and what `replay --json` and `explain --json` print.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "fuzz/run/difference.h"
#include "oracle/judge.h"

namespace fusesmith::fuzz {

// A finite number as itself; JSON has no others, so "inf", "-inf" and "nan" are strings.
nlohmann::ordered_json json_number(double x);

// `differences` are of the region's outputs between the two backends, one for each region, or empty.
nlohmann::ordered_json to_json(const BackendVerdict& verdict, std::span<const Difference> differences = {});
// Every field of the verdict; `differences` go with the candidate's regions.
nlohmann::ordered_json to_json(const Verdict& verdict, std::span<const Difference> differences = {});

}  // namespace fusesmith::fuzz
