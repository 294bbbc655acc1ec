// Coverage gaps: what a campaign should have met and has not.
#pragma once

#include <string>
#include <vector>

#include "fuzz/counts/coverage.h"

namespace fusesmith::fuzz {

struct RareRewrite {
  std::string_view pattern;
  Dtype dtype = Dtype::f32;
  int64_t matched = 0;
};

struct CoverageGaps {
  int64_t wanted = 0;               // matches of every pattern in every float dtype
  std::vector<RareRewrite> rare;    // those with fewer
  std::vector<std::string> guards;  // "pattern.guard", never refused
  std::vector<std::string> ops;     // never made
  // Pairs "op -> reader" of which the campaign made the op in a dtype that it made the reader read, and yet
  // never the pair: how many, of how many, and the first few.
  int64_t pairs_missing = 0, pairs_possible = 0;
  std::vector<std::string> first_pairs;

  // What every place that names one number of gaps counts.
  int64_t count() const {
    return static_cast<int64_t>(rare.size() + guards.size() + ops.size()) + pairs_missing;
  }
};

// In 100,000 cases every rewrite shall match 200 times in each float dtype; in fewer, as many fewer times,
// but once.
int64_t wanted_matches(int64_t cases);

// `rewrites`: whether the candidate rewrites graphs by patterns; if not, no pattern has gaps.
CoverageGaps coverage_gaps(const Coverage& coverage, int64_t cases, bool rewrites = true);

// A few lines, each with the first few gaps of a kind; empty where there are none.
std::string gaps_text(const CoverageGaps& gaps);

}  // namespace fusesmith::fuzz
