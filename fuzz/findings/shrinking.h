// Interestingness test for the minimizer, and a run of it: a case is interesting if the judge reports a
// finding with the right signature.
#pragma once

#include <string>
#include <vector>

#include "fuzz/report/finding_report.h"
#include "fuzz/run/judging.h"
#include "fuzz/run/trials.h"
#include "minimizer/minimize.h"
#include "minimizer/neighbours.h"

namespace fusesmith::fuzz {

// Nothing for a case that is no finding in any of `trials` runs, and for every case once `stop` says true.
// Runs on past findings of other signatures than `signature`, unless that is empty. `on_finding`, if given,
// is told the verdict of each case that fails.
Predicate interestingness_test(const Judging& judging, const Stop& stop = {},
                               const std::string& signature = {}, int trials = 1,
                               const std::function<void(const Verdict&)>& on_finding = {});

struct Shrunk {
  MinimizeResult result;
  Reproduction seen;  // of the result
};

using OnOther = std::function<void(const Verdict& verdict, const Case& test_case)>;

// minimize() for a start that was seen to fail; what was seen is not judged again. A start that fails only
// sometimes is run repeatedly, as often as its failure rate requires. The options of `judging` become part of
// the case, so that they are reduced with it. `stop` ends it soon; its result is then of no use. `on_other`,
// if given, is called with the first case of each other signature.
Shrunk shrink(const Case& start, const Reproduction& seen, const Judging& judging, MinimizeOptions options,
              const Stop& stop = {}, const OnOther& on_other = {});

// The outcome of a case that differs a little from the one that was seen to fail. `seen` must outlive it.
Trial trial_of(const Reproduction& seen, const Judging& judging, const Stop& stop = {});

// The neighbours of a minimized case that was seen to fail. Takes a few seconds at most. None of a failure
// whose rows are drawn for each case (depends_on_batch, exchange_differs).
Neighbours neighbours_of(const Case& test_case, const Reproduction& seen, const Judging& judging,
                         const Stop& stop = {}, NeighbourOptions options = {});

// "31 nodes, 20480 elements -> 2 nodes, 96 elements; 120 queries in 0.4 s, failing in 7 of 20 runs".
std::string shrink_text(const Shrunk& shrunk);

}  // namespace fusesmith::fuzz
