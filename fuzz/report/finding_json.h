// verdict.json of a finding (docs/report.md, docs/verdict.schema.json).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "fuzz/report/finding_report.h"
#include "fuzz/run/difference.h"

namespace fusesmith::fuzz {

// The keys are of the case as found; "minimized" has the same ones. "report" has the facts of report.md.
nlohmann::ordered_json finding_json(const FindingReport& report);

// The same for a case that was judged once: without "report".
nlohmann::ordered_json judged_json(const std::string& file, const Verdict& verdict,
                                   std::span<const Difference> differences = {});

}  // namespace fusesmith::fuzz
