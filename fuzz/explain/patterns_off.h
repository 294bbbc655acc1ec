// Patterns turned off, one at a time: what computes their nodes instead, and what is left of the difference.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuzz/run/judging.h"

namespace fusesmith::fuzz {

// A region that computes nodes of the pattern turned off.
struct Instead {
  std::string region, op;
  std::vector<std::string> patterns;                 // empty: node by node
  std::optional<std::vector<Deviation>> deviations;  // roundings left out; empty where it was not judged
};

struct PatternOff {
  std::string pattern;
  std::optional<VerdictClass> verdict;  // empty: run, but not judged
  int64_t unequal = 0;                  // graph output elements
  double max_difference = 0;
  std::vector<Instead> instead;  // in the plan's order
};

// Each pattern that formed a region of the run's candidate, once, in the plan's order.
std::vector<std::string> patterns_of(const Plan& plan);

// Runs the candidate of `run` again without the pattern, and compares bits; nothing is judged. Nothing where
// only a judgement says which step counts, or the backend cannot.
std::optional<PatternOff> run_without(const std::string& pattern, const Case& test_case, const CaseRun& run,
                                      const Judging& judging);

// The whole case judged without the pattern.
PatternOff judge_without(const std::string& pattern, const Case& test_case, const CaseRun& run,
                         const Judging& judging);

}  // namespace fusesmith::fuzz
