// Judges one region: the strict reading first, then what its contract declares, then what it does not.
#pragma once

#include "oracle/evaluate.h"
#include "oracle/judge.h"

namespace fusesmith::oracle {

struct RegionJudgeOptions {
  // Name exactly the deviations that are needed (one more evaluation for each). Off: all declared ones are
  // named.
  bool minimal_deviations = true;
  // Declared deviations are not allowed either: a region that needs them is told of as what it violates.
  bool strict_policy = false;
};

RegionVerdict judge_region(const Graph& graph, const Plan& plan, size_t region, const Trace& trace,
                           const RegionJudgeOptions& options);

// The comparison of stored bits with one reading's intervals; fills elements, outside, shares, worst,
// symptom.
struct Comparison {
  int64_t elements = 0;
  int64_t outside = 0;          // finite values out of bounds
  int64_t outside_special = 0;  // NaN or infinity where none is lawful, or the reverse
  int64_t exact = 0;            // e = 0
  int64_t unknown = 0;          // e infinite: the bound says nothing
  // Of half of some output's elements or more, e is above 1/16 of the output's largest magnitude.
  bool mostly_loose = false;
  double worst_share = 0;
  double median_share = 0;
  ElementEvidence worst;  // the first element outside by the widest margin, else the largest share
  Symptom special_symptom = Symptom::none;  // nan, infinity, missing_nan or missing_infinity

  bool lawful() const { return outside == 0 && outside_special == 0; }
};
Comparison compare(const Graph& graph, const std::vector<RegionOutput>& outputs, const Trace& trace);

// Which of two lawful readings the stored bits speak for: among the elements whose exact results differ
// between them, the standard score of "nearer to a's" against a fair coin. Above about 5, a is what happened.
// Used to name deviations, never to acquit or convict.
double preference(const std::vector<RegionOutput>& a, const std::vector<RegionOutput>& b, const Trace& trace);

}  // namespace fusesmith::oracle
