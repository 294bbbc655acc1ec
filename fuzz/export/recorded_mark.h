// What failed in a case, as the verdict.json beside it says: campaigns write one into the folder of each
// finding.
#pragma once

#include <optional>
#include <string>

#include "fuzz/render/failure_mark.h"
#include "graph/case.h"

namespace fusesmith::fuzz {

// Nothing where there is no such file, or where it is not about this case. Nothing is run; a backend in this
// program is asked for its plan, to know the nodes of the region.
std::optional<FailureMark> recorded_failure_mark(const std::string& file, const Case& test_case);

}  // namespace fusesmith::fuzz
