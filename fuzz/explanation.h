// An explanation goes on from a verdict: what made the difference, found by experiments (causes.h), what each
// pattern has to do with it, and one sentence that says what happened.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fuzz/causes.h"
#include "fuzz/judging.h"

namespace fusesmith {

// The same case judged with one more pattern turned off.
struct PatternOff {
  std::string pattern;
  VerdictClass verdict = VerdictClass::identical;
  int64_t unequal = 0;
  double max_difference = 0;
};

struct Explanation {
  Causes causes;
  std::vector<PatternOff> patterns_off;  // of those that formed a region of the candidate
  std::string what_happened;             // one sentence
};

// `run` is what `judging` made of the case. Experiments end after `max_seconds` (a started one is finished),
// or where memory runs out; `causes.left_out` says so. Throws DeviceError::unhealthy.
Explanation explain(const Case& test_case, const CaseRun& run, const Judging& judging, double max_seconds);

// The sentence; `run` had the causes.
std::string what_happened(const Verdict& verdict, const Causes& causes);

// For people: tables of causes, swaps and spread of the largest few, patterns, and what was left out.
std::string to_text(const Explanation& explanation, const CaseRun& run);
// docs/explain.md says what the fields mean.
nlohmann::ordered_json to_json(const Explanation& explanation);

}  // namespace fusesmith
