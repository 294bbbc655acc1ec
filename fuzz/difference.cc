#include "fuzz/difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace fusesmith {

namespace {

double distance(double a, double b) {
  if (std::isnan(a) && std::isnan(b)) return 0;
  const double d = std::fabs(a - b);
  return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

const Tensor* value_in(const Trace& trace, ValueId value) {
  return static_cast<size_t>(value) < trace.values.size() ? trace.values[static_cast<size_t>(value)].get()
                                                          : nullptr;
}

}  // namespace

Difference difference(const Tensor& a, const Tensor& b) {
  Difference found{a.size(), 0, 0};
  const auto size = static_cast<size_t>(size_of(a.type.dtype));
  for (int64_t i = 0; i < a.size(); ++i) {
    const size_t at = static_cast<size_t>(i) * size;
    if (std::memcmp(a.bytes.data() + at, b.bytes.data() + at, size) == 0) continue;
    ++found.unequal;
    found.largest = std::max(found.largest, distance(a.value(i), b.value(i)));
  }
  return found;
}

std::vector<Difference> region_differences(const CaseRun& run) {
  std::vector<Difference> differences;
  if (!run.candidate) return differences;
  for (const Region& region : run.candidate->plan().regions) {
    Difference sum;
    for (const ValueId value : region.outputs) {
      const Tensor* a = value_in(run.baseline_trace, value);
      const Tensor* b = value_in(run.candidate_trace, value);
      if (!a || !b) continue;
      const Difference one = difference(*a, *b);
      sum.elements += one.elements;
      sum.unequal += one.unequal;
      sum.largest = std::max(sum.largest, one.largest);
    }
    differences.push_back(sum);
  }
  return differences;
}

}  // namespace fusesmith
