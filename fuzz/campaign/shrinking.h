// The minimizer's question, asked of the judge: does this case fail, with which signature, where, and on
// which bits?
#pragma once

#include <string>
#include <vector>

#include "fuzz/run/judging.h"
#include "fuzz/run/trials.h"
#include "minimizer/minimize.h"

namespace fusesmith::fuzz {

// Nothing for a case that is no finding in any of `trials` runs, and for every case once `stop` says true.
// Runs on past findings of other signatures than `signature`, unless that is empty.
Predicate predicate_of(const Judging& judging, const Stop& stop = {}, const std::string& signature = {},
                       int trials = 1);

struct Shrunk {
  MinimizeResult result;
  FailureRate rate;  // of the result, in runs of its own
};

// minimize() with the rewrite patterns of this build, for a start that fails with this signature (empty: with
// any). One that fails only sometimes is asked again and again, by its measured rate. `stop` ends it soon;
// its result is then of no use.
Shrunk shrink(const Case& start, const std::string& signature, const Judging& judging,
              MinimizeOptions options, const Stop& stop = {});

// "31 nodes, 20480 elements -> 2 nodes, 96 elements; 120 queries in 0.4 s, failing in 7 of 20 runs".
std::string shrink_text(const Shrunk& shrunk);

}  // namespace fusesmith::fuzz
