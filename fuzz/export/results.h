// What both backends computed for a case, and for every stored element the exact result and the lawful
// interval, as the judge has them: what --with_results adds to an export.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fuzz/render/failure_mark.h"
#include "fuzz/run/trials.h"

namespace fusesmith::fuzz {

// One stored value of one backend.
struct StoredResult {
  size_t region = 0;  // of the plan, which computed it
  TensorPtr got;
  // By element: the exact result from the bits that the region received, before it is stored; and the lowest
  // and the highest stored value within bounds (both NaN where only NaN is correct, -inf and inf where
  // nothing is known).
  std::vector<double> exact, low, high;

  bool is_outside(size_t element) const;
};

struct BackendResults {
  std::string backend;
  const Plan* plan = nullptr;  // of the program in `run`
  Trace trace;
  std::map<ValueId, StoredResult> values;  // of every region output
};

struct CaseResults {
  CaseRun run;
  BackendResults baseline, candidate;
  FailureRate rate = {};

  const BackendResults& of(BackendRole role) const {
    return role == BackendRole::baseline ? baseline : candidate;
  }
  // The backend whose elements are shown: the failing one.
  const BackendResults& shown() const;
};

// Whether every correct program has these bits there: elements of inputs and states, moved correctly.
bool is_only_moved(const Graph& graph, const BackendResults& backend, ValueId value);

// Of the first run that fails with the signature; without one, the first run is taken as it is. The problem
// says why there are no results: the pair cannot run, or they would be too large.
Result<CaseResults> results_of(const Case& test_case, const Judging& judging,
                               const std::string& signature = {});

struct ShownElement {
  ValueId value;
  int64_t element;
  double got, exact, low, high;
};
// The elements of the failing region that are out of bounds, the judge's evidence first; where none is, the
// evidence of the failing region, or else the element of each output that is nearest to its bounds. At most
// `most`.
std::vector<ShownElement> shown_elements(const Graph& graph, const CaseResults& results, size_t most);

// Of the failing region; nothing where there is none.
std::optional<FailureMark> failure_mark(const Graph& graph, const CaseRun& run);

}  // namespace fusesmith::fuzz
