// Coverage as rows of a table: how often each pattern matched, and each of its guards refused it, by dtype.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fuzz/campaign/coverage.h"

namespace fusesmith::fuzz {

// {"dtypes": [...], "wanted": N, "rows": [{"pattern", "outcome", "counts": [...]}], "missing_ops": [...]}; a
// count below what is wanted of a match, and a guard that never refused, are gaps.
nlohmann::ordered_json coverage_facts(const Coverage& coverage, int64_t cases);

}  // namespace fusesmith::fuzz
