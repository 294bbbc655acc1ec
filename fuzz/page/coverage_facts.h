// Coverage as rows of a table: how often each pattern matched, and each of its guards refused it, by dtype.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fuzz/counts/coverage.h"

namespace fusesmith::fuzz {

// {"dtypes": [...], "wanted": N, "rows": [{"pattern", "outcome", "counts": [...]}], "missing_ops": [...],
// "gaps": N}, without rows where no candidate rewrites graphs. `gaps` counts what gaps_text names: counts
// below what is wanted of a match, guards that never refused, ops and pairs of ops that never occurred.
nlohmann::ordered_json coverage_facts(const Coverage& coverage, int64_t cases, bool rewrites);

}  // namespace fusesmith::fuzz
