// The judged step of a case, run again on the same inputs.
#pragma once

#include <functional>

#include "fuzz/run/run_case.h"

namespace fusesmith::fuzz {

// Runs the judged step again up to `times` times, both backends, on the same inputs. When bits differ the
// verdict, unless it is a finding already, becomes `nondeterministic`; where a contract says that the order
// of sums varies, that of a run out of its bounds. Ends early then, and when `stop`, if given, says so; how
// often it ran.
int64_t repeat_run(const Graph& graph, CaseRun& run, int64_t times, const std::function<bool()>& stop = {});

}  // namespace fusesmith::fuzz
