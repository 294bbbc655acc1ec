// The judge compares each backend with the bounded reference, region by region, on the inputs that the region
// received in the run. It does not compare the backends with each other, and uses no tolerance.
//
// oracle/ holds what it judges (plan.h: regions and traces), what backends declare (contract.h), exact
// results with their bounds (reference/, one file for each family of ops), other ways to compute an op
// (lowerings.h, known_arithmetic.h), and what it says (verdict.h; signature.h lists classes and symptoms). A
// new verdict, lowering or arithmetic: docs/adding.md.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "graph/case.h"
#include "oracle/plan.h"
#include "oracle/sample_options.h"
#include "oracle/verdict.h"

namespace fusesmith::oracle {

// What one backend did with a case.
struct Execution {
  std::string backend;
  const Plan* plan = nullptr;
  const Trace* trace = nullptr;
  std::optional<Disagreement> disagreement = {};  // between this run and Program::recheck
  // A region within its bounds is `inconclusive` if its median resolution is larger; and if this is finite, a
  // scalar function is, if an element is off by more than kCoarsest.
  double coarsest = kInfinity;
  bool foreign =
      false;  // code of others: what is outside its bounds is explained (oracle/explain_by_arithmetic.h)
  // A function or a plug-in, which cannot run again with inner values exposed, and whose author may not have
  // stated all that it does: it may use what KnownArithmetic::of_kernels says, and what is inconclusive since
  // sums are long is right if they have the errors of independent roundings.
  bool is_kernel = false;
  // Runs on the same inputs with other bits, where the order of sums varies: each is judged, too.
  std::span<const Trace> other_runs = {};
};

struct JudgeOptions {
  // Name exactly the deviations that are needed, at one more evaluation for each, and read all elements for
  // resolutions; off (campaigns), all declared ones are named, and resolutions are those of a sample.
  bool minimal_deviations = true;
  // Failures of known issues are no findings: the finding is the first failing region of another signature.
  FindIssue find_issue = {};
  SampleOptions sample = {};
};

Verdict judge(const Case& test_case, const Execution& baseline, const Execution& candidate,
              const JudgeOptions& options = {});

// Adds the result of a check after the judgement: the region fails, and unless the verdict was a finding
// before, it becomes the verdict of this region, as Verdict::fail says.
void add_disagreement(const Graph& graph, const Disagreement& found, BackendRole role, Verdict& verdict,
                      const FindIssue& find_issue = {});

// Judges another run on the same inputs: of each region that has other bits there, the more severe verdict
// stays. The first region that fails only there.
std::optional<size_t> judge_other_run(const Graph& graph, const Execution& execution, const Trace& other,
                                      const JudgeOptions& options, BackendVerdict& verdict);

// One backend alone (its regions, no comparison).
BackendVerdict judge_backend(const Graph& graph, const Execution& execution,
                             const JudgeOptions& options = {});

}  // namespace fusesmith::oracle
