// Judges one region: first with the strict reading, then with declared deviations, then with undeclared ones.
#pragma once

#include "oracle/evaluate.h"
#include "oracle/judge.h"
#include "oracle/resolution.h"

namespace fusesmith::oracle {

struct RegionJudgeOptions {
  // Name exactly the deviations that are needed (one more evaluation for each), and read all elements for the
  // resolution. Off: all declared ones are named, and the resolution is that of a sample.
  bool minimal_deviations = true;
  // Declared deviations are not allowed either; the evidence is then that of the strict reading.
  bool strict_policy = false;
  SampleOptions sample = {};
  const Trace* other = nullptr;  // of another backend: a sample has what differs most from it
  // Null, or shared with other regions of the graph that are judged by the same thread.
  ReferenceMemo* memo = nullptr;
  // As in Execution.
  double coarsest = kInfinity;
  // The region is computed by code of others: if it is outside its bounds, a customary arithmetic with which
  // it is within them is found, and with `minimal_deviations` any known one.
  bool foreign = false;
  // As in Execution.
  bool is_kernel = false;
};

RegionVerdict judge_region(const Graph& graph, const Plan& plan, size_t region, const Trace& trace,
                           const RegionJudgeOptions& options);

// The reading whose intervals the verdict of this region reports: the one that it passes with, or of the
// allowed ones the one that leaves the fewest elements outside.
Reading reported_reading(const Graph& graph, const Region& region, const Trace& trace,
                         const RegionVerdict& verdict, bool strict_policy);

// The comparison of stored bits with one reading's intervals; fills elements, outside, shares, worst,
// symptom.
struct Comparison {
  int64_t elements = 0;
  int64_t outside = 0;          // finite values out of bounds
  int64_t outside_special = 0;  // NaN or infinity where no correct execution gives it, or the reverse
  int64_t exact = 0;            // e = 0
  int64_t unknown = 0;          // e infinite: the bound says nothing
  // Elements of which e is above 1/16 of the largest magnitude beside them; and whether they are half of the
  // elements of some output, or more.
  int64_t loose = 0;
  bool mostly_loose = false;
  // Within their bounds, but off by more than kCoarsest of themselves (and an ulp).
  int64_t uncertain = 0;
  double worst_share = 0;
  double median_share = 0;
  Resolution resolution;  // if lawful
  ElementEvidence worst;  // the first element outside by the widest margin, else the largest share
  Symptom special_symptom = Symptom::none;  // nan, infinity, missing_nan or missing_infinity

  bool lawful() const { return outside == 0 && outside_special == 0; }
};
Comparison compare(const Graph& graph, const std::vector<RegionOutput>& outputs, const Trace& trace,
                   ReferenceMemo* memo = nullptr, ReadElements of_resolution = ReadElements::all);

// Which of two readings explains the stored bits better, if the region is within its bounds under both. The
// result is a standard score: among the elements whose exact results differ between the readings, how many
// are nearer to that of a, compared with equal chances. Above about 5, the kernel used reading a. This only
// names deviations; it never changes whether a region passes.
double preference(const std::vector<RegionOutput>& a, const std::vector<RegionOutput>& b, const Trace& trace);

}  // namespace fusesmith::oracle
