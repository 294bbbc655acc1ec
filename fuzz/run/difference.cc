#include "fuzz/run/difference.h"

namespace fusesmith::fuzz {

namespace {

const Tensor* value_in(const Trace& trace, ValueId value) {
  return static_cast<size_t>(value) < trace.values.size() ? trace.values[static_cast<size_t>(value)].get()
                                                          : nullptr;
}

}  // namespace

std::vector<Difference> region_differences(const CaseRun& run) {
  std::vector<Difference> differences;
  if (!run.candidate) return differences;
  for (const Region& region : run.candidate->plan().regions) {
    Difference sum;
    for (const ValueId value : region.outputs) {
      const Tensor* a = value_in(run.baseline_trace, value);
      const Tensor* b = value_in(run.candidate_trace, value);
      if (!a || !b) continue;
      sum += difference(*a, *b);
    }
    differences.push_back(sum);
  }
  return differences;
}

}  // namespace fusesmith::fuzz
