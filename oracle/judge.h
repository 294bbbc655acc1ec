// The judge: each backend by itself, region by region, on the inputs that the region really got, against the
// bounded reference; differences between two backends are then explained, not tolerated.
#pragma once

#include <optional>
#include <string>

#include "graph/case.h"
#include "oracle/plan.h"
#include "oracle/verdict.h"

namespace fusesmith::oracle {

// What one backend did with a case.
struct Execution {
  std::string backend;
  const Plan* plan = nullptr;
  const Trace* trace = nullptr;
  std::optional<Disagreement> disagreement = {};  // between this run and a second look at it
};

struct JudgeOptions {
  // Name exactly the deviations that are needed, at one more evaluation for each; off (campaigns), all
  // declared ones are named.
  bool minimal_deviations = true;
};

Verdict judge(const Case& test_case, const Execution& baseline, const Execution& candidate,
              const JudgeOptions& options = {});

// Adds what a check after the judgement found in one of the verdict's backends: its region fails, and the
// verdict, unless it was a finding before, is the one of that region.
void add_disagreement(const Graph& graph, const Disagreement& found, BackendRole role, Verdict& verdict);

// One backend alone (its regions, no comparison).
BackendVerdict judge_backend(const Graph& graph, const Execution& execution,
                             const JudgeOptions& options = {});

}  // namespace fusesmith::oracle
