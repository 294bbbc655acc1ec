// An explanation goes on from a verdict: what made the difference, found by experiments (causes.h), what each
// pattern has to do with it, and one sentence that says what happened.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fuzz/explain/conclusion.h"
#include "fuzz/explain/patterns_off.h"
#include "fuzz/order/order_proof.h"
#include "fuzz/run/judging.h"

namespace fusesmith::fuzz {

struct Explanation {
  Causes causes;
  std::vector<PatternOff> patterns_off;  // of those that formed a region of the candidate
  std::string what_happened;             // one sentence
  std::optional<Conclusion> conclusion = {};
  // Of causes whose region is a product on both sides: the baseline's order, and the candidate's.
  OrderProofs orders = {};
};

struct Budget {
  double max_seconds = 60;     // no experiment begins later; a started one is finished
  double judging_seconds = 0;  // what the run took: a judgement of the whole case begins only if that is left
};

// `run` is what `judging` made of the case. First what runs of kernels alone can say: injections, what
// follows from them, swaps, patterns turned off; then what takes the reference: regions on the baseline's
// values, and the whole case without each pattern. `causes.left_out` names what no time or memory was left
// for. Throws DeviceError::unhealthy.
Explanation explain(const Case& test_case, const CaseRun& run, const Judging& judging, const Budget& budget);

// The sentence; `run` had the causes.
std::string what_happened(const Verdict& verdict, const Causes& causes);

// For people: tables of causes, swaps and spread of the largest few, orders, patterns, and what was left out.
// Tables are cut to `columns`.
std::string to_text(const Explanation& explanation, const CaseRun& run, size_t columns);
// docs/explain.md says what the fields mean.
nlohmann::ordered_json to_json(const Explanation& explanation);

}  // namespace fusesmith::fuzz
