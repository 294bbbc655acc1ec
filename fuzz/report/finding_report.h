// All that is known of a finding when its report is written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuzz/run/environment.h"
#include "fuzz/run/trials.h"
#include "minimizer/neighbours.h"

namespace fusesmith::fuzz {

// A case of the finding, and how it fails.
struct JudgedCase {
  std::string file;
  Case test_case;
  Reproduction seen;
};

// One thing that was changed to see whether it is the cause.
struct Ablation {
  enum class Kind : uint8_t { rewrite, data, steps, mode, optimizers };
  Kind kind;
  std::string what;                        // "rewrite sdpa off"
  std::optional<Outcome> outcome = {};     // empty: no time was left to try it
  std::vector<std::string> left_out = {};  // of Kind::optimizers: their names
};

struct FindingReport {
  std::string signature;
  JudgedCase found;
  std::string how_small;  // what minimization did, or why it did nothing
  std::optional<JudgedCase> minimized = {};
  std::optional<Neighbours> neighbours = {};  // of the minimized case
  std::vector<Ablation> ablations = {};       // of the smallest case
  std::string known_issue = {};               // that it belongs to, in one line; empty: none that is known
  std::string snippet = {};  // Python that runs the smallest case without fusesmith; empty: there is none
  Environment environment = {};
  std::string flags = {};  // of the commands in the report, what case files do not hold
  std::string program = "fusesmith";

  const JudgedCase& smallest() const { return minimized ? *minimized : found; }
};

}  // namespace fusesmith::fuzz
