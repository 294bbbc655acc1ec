// What failed in a case, as the verdict.json beside it says: campaigns write one into the folder of each
// finding.
#pragma once

#include <optional>
#include <string>

#include "fuzz/render/failure_mark.h"
#include "fuzz/run/trials.h"
#include "graph/case.h"

namespace fusesmith::fuzz {

// Nothing where there is no such file, or where it is not about this case. Nothing is run; a backend in this
// program is asked for its plan, to know the nodes of the region.
std::optional<FailureMark> recorded_failure_mark(const std::string& file, const Case& test_case);

struct RecordedFailure {
  std::string signature;
  FailureRate rate;  // 0 of 0 where it was not counted for this case
};
// Nothing where there is no such file, or where it is not about a finding in this case.
std::optional<RecordedFailure> recorded_failure(const std::string& file);

// How often the case fails, in one sentence; empty where it fails every time, or nobody saw it fail. `rate`
// is of the results, null without them.
std::string failure_note(const std::optional<RecordedFailure>& recorded, const FailureRate* rate);

}  // namespace fusesmith::fuzz
