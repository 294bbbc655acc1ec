// Arithmetics that kernels of others are known to use beyond what their contracts say. If a region of such a
// kernel is outside its bounds, the judge looks for one with which it is within them, so that a verdict says
// what the kernel does, and what to declare if it is meant to.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "oracle/plan.h"
#include "oracle/verdict.h"

namespace fusesmith::oracle {

enum class Within : uint8_t {
  no,
  undecided,  // the bounds say nothing of what failed
  loosely,    // but they are too coarse for a verdict
  decidedly,
  sharply
};

struct KnownArithmetic {
  Diagnosis diagnosis;
  // Grants it to the contract of a region. Whether it can apply there.
  std::function<bool(const Graph& graph, const Region& region, Contract& contract)> grant;
  Within least = Within::undecided;  // to be an excuse; more where the bounds with it may allow a mistake
  // Narrows what the contract declares, so that it explains no failure, but may decide what is inconclusive.
  bool is_sharper = false;
  bool is_graph = false;  // computes the op as another graph (oracle/lowerings.h)
};

// In the order in which they are tried: the customary ones first.
const std::vector<KnownArithmetic>& known_arithmetics();

struct Explained {
  std::vector<Diagnosis> diagnoses;          // all of which are needed
  Contract contract;                         // that grants them
  bool is_excuse = false;                    // they are customary, and hold as they need to
  std::vector<Diagnosis> alternatives = {};  // with `all`: the customary ones each of which suffices, too
};

// Of the region with this contract, which grants an excuse or something else.
using IsWithin = std::function<Within(const Contract& contract, bool as_excuse)>;

// What explains the region: one excuse, else several customary arithmetics together, else, with `all`, any
// one, or the least error of a function that suffices. Nothing if no arithmetic of the list explains it.
std::optional<Explained> explain_by_arithmetic(const Graph& graph, const Region& region, bool all,
                                               const IsWithin& within);

}  // namespace fusesmith::oracle
