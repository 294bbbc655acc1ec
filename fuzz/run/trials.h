// Repeated trials: a nondeterministic executor fails on the same case only sometimes.
#pragma once

#include <functional>
#include <string>

#include "fuzz/run/judging.h"

namespace fusesmith::fuzz {

using Stop = std::function<bool()>;  // asked between runs; true ends them. Empty: never

inline constexpr int kMostTrials = 30;

struct FailureRate {
  int failed = 0, runs = 0;
  bool sometimes() const { return failed < runs; }
};

// The first of at most `trials` runs that is a finding with this signature (empty: with any), else the last.
CaseRun run_until_failing(const Case& test_case, const std::string& signature, const Judging& judging,
                          int trials, const Stop& stop = {});

// A case judged often enough to say how it fails; made once and handed on.
struct Reproduction {
  CaseRun run;       // the first that is a finding with the signature, else the last
  FailureRate rate;  // of a few runs, that one included; of more runs once one of them does not fail
  bool fails() const { return rate.failed > 0; }
};

// Gives up after `most` runs of which none fails (at least one is made). The runs after the first that fails
// say only whether the case fails: they are judged as Judging::quick does.
Reproduction reproduce(const Case& test_case, const std::string& signature, const Judging& judging,
                       int most = kMostTrials, const Stop& stop = {});

// Trials after which a case that fails at this rate has been seen to fail with probability 0.98; at most
// kMostTrials.
int trials_for(const FailureRate& rate);

}  // namespace fusesmith::fuzz
