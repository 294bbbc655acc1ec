// Repeated trials: a nondeterministic executor fails on the same case only sometimes.
#pragma once

#include <functional>
#include <string>

#include "fuzz/run/judging.h"

namespace fusesmith::fuzz {

using Stop = std::function<bool()>;  // asked between runs; true ends them. Empty: never

struct FailureRate {
  int failed = 0, runs = 0;
  bool sometimes() const { return failed < runs; }
};

// The first of at most `trials` runs that is a finding with this signature (empty: with any), else the last.
CaseRun run_until_failing(const Case& test_case, const std::string& signature, const Judging& judging,
                          int trials, const Stop& stop = {});

// How many of a few runs are findings with this signature; of more runs once one of them is not.
FailureRate failure_rate(const Case& test_case, const std::string& signature, const Judging& judging,
                         const Stop& stop = {});

// Trials after which a case that fails at this rate has been seen to fail with probability 0.98; at most
// kMostTrials.
int trials_for(const FailureRate& rate);

inline constexpr int kMostTrials = 30;

}  // namespace fusesmith::fuzz
