// One case on two backends, judged: what a campaign does with every case, and what replay, explain, the
// minimizer's question and the libFuzzer target all do with theirs.
//
// run/ has the list of backends (backends.h), what becomes a verdict beside the judge's (judging.h: failed
// runs; metamorphic.h; known_issues.h), expectations of case files (expectation.h), and what runs a case
// often (repeat.h, trials.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "graph/case.h"
#include "oracle/judge.h"

namespace fusesmith::fuzz {

inline constexpr int64_t kExposeWhereNeeded = -1;

// What is done with a case, one after the other, step by step.
enum class Stage : uint8_t { compile, run, judge };

struct RunOptions {
  Faults faults;
  std::vector<std::string> skip_patterns;               // beside those that the case itself turns off
  std::optional<Policy::ImplicitCasts> implicit_casts;  // in place of the case's
  Deadlines deadlines;
  // How many inner values workers return beside the outputs (fuzz/run/exposing.h); kExposeWhereNeeded: none,
  // and then all that divide the program if the verdict would be inconclusive.
  int64_t expose = kExposeWhereNeeded;
  JudgeOptions judge;
  std::function<bool()> stop;  // asked between steps; true ends the case by throwing Interrupted
  // Told what begins, in the thread of the case. `role`: the backend that is at work.
  std::function<void(Stage stage, BackendRole role)> on_stage;
  // Told what both backends stored in a step of the case itself: not of its parts, and not with exposed
  // values. A case that runs again as a whole starts again with step 0.
  std::function<void(int64_t step, const Trace& baseline, const Trace& candidate)> on_step;
};

// A case was cut off between two steps: of what was judged until then, nothing is told. No std::exception,
// which would be taken for a crash of the case.
struct Interrupted {};

// The case as it is judged under the options: its policy with their overrides.
Case with_options(Case test_case, const RunOptions& options);

// Compiles both (a backend that cannot: verdict `unsupported` with its reason), draws the inputs once for
// both, runs and judges every step. The verdict is that of the most severe step: of several the one whose
// outputs are furthest apart, then the earliest. Its figures of the outputs are over all steps. Where inner
// values were exposed, a finding counts only if the failing part of the graph fails by itself, too.
Verdict run_case(const Case& test_case, const Backend& baseline, const Backend& candidate,
                 const RunOptions& options = {});

// The same with what it was judged by, for reports and for extracting regions with the inputs they got.
// Programs are null where the verdict is `unsupported`; the traces are those of the most severe step.
struct CaseRun {
  Verdict verdict;
  std::unique_ptr<Program> baseline, candidate;
  Trace baseline_trace, candidate_trace;  // the candidate's with the case's stand-ins in place
  std::vector<StandIn> stand_ins;
  FindIssue find_issue;                        // that it was judged with
  std::map<std::string, int64_t> metamorphic;  // checks that were made, by name
};
// Puts what stands in for a value in its place.
void put_stand_ins(const Graph& graph, const std::vector<StandIn>& stand_ins, Trace& trace);
CaseRun run_case_traced(const Case& test_case, const Backend& baseline, const Backend& candidate,
                        const RunOptions& options = {});

// What one backend stores in the first step, nothing judged; or why it cannot.
Result<Trace> first_step(const Case& test_case, const Backend& backend, const RunOptions& options = {});

// The states after the last step on one backend, nothing judged; or why it cannot.
Result<std::vector<TensorPtr>> final_states(const Case& test_case, const Backend& backend,
                                            const RunOptions& options = {});

}  // namespace fusesmith::fuzz
