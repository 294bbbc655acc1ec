// If a region of a kernel of others is outside its bounds, the judge looks for a known arithmetic with which
// it is within them, so that a verdict says what the kernel does, and what to declare if it is meant to.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "oracle/known_arithmetic.h"

namespace fusesmith::oracle {

struct Explained {
  std::vector<Diagnosis> diagnoses;          // all of which are needed
  Contract contract;                         // that grants them
  bool is_excuse = false;                    // they are customary, and hold as they need to
  std::vector<Diagnosis> alternatives = {};  // with `all`: the customary ones each of which suffices, too
};

// Of the region with this contract, which grants an excuse or something else.
using IsWithin = std::function<Within(const Contract& contract, bool as_excuse)>;

// Those that widen bounds, in the order in which they may be granted together: of roundings at one value, the
// first counts, so that the largest come first.
std::vector<const KnownArithmetic*> widening_arithmetics();

struct ExplainOptions {
  bool all = false;        // also what is no excuse, and every excuse
  bool is_kernel = false;  // as in Execution
};

// What explains the region: one excuse, else several customary arithmetics together, else, with `all`, any
// one, or the least error of a function that suffices. Nothing if no arithmetic of the list explains it.
std::optional<Explained> explain_by_arithmetic(const Graph& graph, const Region& region,
                                               const ExplainOptions& options, const IsWithin& within);

}  // namespace fusesmith::oracle
