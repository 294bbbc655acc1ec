// The judge: each backend by itself, region by region, on the inputs that the region really got, against the
// bounded reference; differences between two backends are then explained, not tolerated.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/case.h"
#include "oracle/plan.h"

namespace fusesmith::oracle {

// The symptom of a finding that a disagreement proves: "repeat_differs", ...
std::string_view name(Disagreement::Kind kind);

// In order of gravity within one judgement: the whole run's class is the gravest of its regions'.
enum class VerdictClass : uint8_t {
  identical,
  reassociation,
  precision_policy,
  inconclusive,
  unsupported,
  out_of_memory,
  timeout,
  crash,
  nondeterministic,
  exceptional,
  defect,
};
inline constexpr std::array<std::string_view, 11> kVerdictNames = {
    "identical", "reassociation", "precision_policy", "inconclusive", "unsupported", "out_of_memory",
    "timeout",   "crash",         "nondeterministic", "exceptional",  "defect"};
std::string_view name(VerdictClass verdict);
std::optional<VerdictClass> parse_verdict(std::string_view text);

// One element where a region left its bounds (or came nearest to them).
struct ElementEvidence {
  std::string value;    // the region output
  int64_t element = 0;  // row-major index
  double got = 0;
  double want = 0;  // v, the exact result from the inputs that the region got
  double lo = 0;    // the lawful stored interval
  double hi = 0;
  double bound = 0;  // e: how far a lawful execution may be off before it stores
};

struct RegionVerdict {
  size_t region = 0;  // index in the plan
  std::string name;   // the name of its last output
  std::string op;     // of a single node: its semantic name; else of the region's last node
  std::vector<std::string> patterns;
  Dtype dtype = Dtype::f32;
  VerdictClass verdict = VerdictClass::reassociation;
  std::string
      symptom;  // of a finding: "out_of_bounds", "undeclared_rounding", "declared_rounding", "nan", ...
  std::vector<Deviation> deviations;  // used, and no smaller set suffices
  bool declared = true;               // whether the contract declares all of them
  int64_t elements = 0;
  int64_t outside = 0;      // elements out of bounds under the reading reported
  double worst_share = 0;   // max |got - want| / (bound + half an ulp)
  double median_share = 0;  // over elements that are not exact
  int64_t exact = 0;        // elements that had one lawful bit pattern by the exact rule (e = 0)
  ElementEvidence worst;
  bool inherited = false;  // same inputs and outputs, bit for bit, as lawful regions of the baseline
};

struct BackendVerdict {
  std::string backend;
  std::vector<RegionVerdict> regions;                  // in the plan's order
  VerdictClass verdict = VerdictClass::reassociation;  // the gravest
};

struct Verdict {
  VerdictClass verdict = VerdictClass::identical;
  std::string signature;  // of a finding: names its folder; empty when there is none
  bool finding = false;   // under the case's policy
  std::string reason;     // unsupported, crash: one line
  BackendVerdict baseline, candidate;
  int64_t step = 0, steps = 1;  // what is above is of this step; what follows is over all of them
  int64_t unequal = 0;          // graph output elements whose bits differ between the two backends
  int64_t output_elements = 0;
  double max_difference = 0;
  std::set<std::string> deviations;  // that the candidate's regions use, as text
  bool exact = false;                // no element of any region had more than one lawful result
};

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
void add_disagreement(const Case& test_case, const Disagreement& found, BackendVerdict& backend,
                      Verdict& verdict);

// One backend alone (its regions, no comparison).
BackendVerdict judge_backend(const Graph& graph, const Execution& execution,
                             const JudgeOptions& options = {});

// (class, backend, culprit pattern or op, dtype, symptom) in one file-name-safe word:
// "defect-cpu_fused-sdpa-bf16-out_of_bounds".
std::string make_signature(VerdictClass verdict, const std::string& backend, const std::string& culprit,
                           const std::string& dtype, const std::string& symptom);

}  // namespace fusesmith::oracle
