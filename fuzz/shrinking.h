// The minimizer's question, asked of the judge: does this case fail, with which signature, where, and on
// which bits?
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fuzz/judging.h"
#include "minimizer/minimize.h"

namespace fusesmith {

// Nothing for a case that is no finding, and for every case once `stop` says true.
Predicate predicate_of(const Judging& judging, std::function<bool()> stop = {});

// minimize() with the rewrite patterns of this build. `stop` ends it soon; its result is then of no use.
MinimizeResult shrink(const Case& start, const Judging& judging, MinimizeOptions options,
                      std::function<bool()> stop = {});

// "31 nodes, 20480 elements -> 2 nodes, 96 elements; 120 queries in 0.4 s".
std::string shrink_text(const MinimizeResult& result);

}  // namespace fusesmith
