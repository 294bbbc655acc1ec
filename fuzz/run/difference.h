// How far two runs of one case are apart, region by region: what replay and explain show beside each
// backend's own errors.
#pragma once

#include <vector>

#include "fuzz/run/run_case.h"

namespace fusesmith::fuzz {

struct Difference {
  int64_t elements = 0;  // that both backends left in memory
  int64_t unequal = 0;   // their bits differ
  double largest = 0;    // |difference|; infinite where one of the two is NaN or infinite
  double squares = 0;    // sum of the squared differences
  // Further from the baseline's than torch.testing.assert_close allows: what a global tolerance would report.
  int64_t beyond = 0;

  double rms() const;  // 0 of no elements
  Difference& operator+=(const Difference& other);
};

// `baseline` and `other` are of one type.
Difference difference(const Tensor& baseline, const Tensor& other);

// For each region of the run's candidate: its outputs against the same values in the baseline's trace. Empty
// for a run without programs.
std::vector<Difference> region_differences(const CaseRun& run);

}  // namespace fusesmith::fuzz
