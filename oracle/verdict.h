// Verdict: what the judge says of a run, with its evidence.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/tensor.h"
#include "oracle/contract.h"
#include "oracle/resolution.h"
#include "oracle/signature.h"

namespace fusesmith::oracle {

// One element where a region left its bounds (or came nearest to them).
struct ElementEvidence {
  std::string value;    // the region output
  int64_t element = 0;  // row-major index
  double got = 0;
  double want = 0;  // v, the exact result from the inputs that the region got
  double lo = 0;    // the stored values within bounds: [lo, hi]
  double hi = 0;
  double bound = 0;           // e: the largest error of a correct execution before it stores
  int64_t steps_outside = 0;  // ulps of the stored dtype between `got` and the interval; 0 where not finite
  Shape shape = {};           // of `value`, in evidence of a failure
};

// What a kernel of others may have done that its contract does not say (oracle/explain_by_arithmetic.h).
struct Diagnosis {
  std::string name;         // "rms_norm.weight_after"
  std::string says;         // what it does
  std::string declaration;  // that grants it, as attributes of a Python function have it
  bool customary = false;   // published, or done by a widely used library; else a loss that none intends
  bool operator==(const Diagnosis&) const = default;
};

// Of a region, `identical` means that both backends read and left the same bits.
struct RegionVerdict {
  size_t region = 0;  // index in the plan
  std::string name;   // the name of its last output
  std::string op;     // of a single node: its semantic name; else of the region's last node
  std::vector<std::string> patterns;
  Dtype dtype = Dtype::f32;
  VerdictClass verdict = VerdictClass::reassociation;
  Symptom symptom = Symptom::none;    // of a finding
  std::vector<Deviation> deviations;  // used, and no smaller set suffices
  bool declared = true;               // whether the contract declares all of them
  int64_t elements = 0;               // judged
  int64_t all_elements = 0;           // of its outputs: more if a sample of them was judged
  int64_t outside = 0;                // elements out of bounds under the reading reported
  double worst_share = 0;             // max |got - want| / (bound + half an ulp)
  double median_share = 0;            // over elements that are not exact
  Resolution resolution;              // of the reading that it passes with; none if it fails
  int64_t uncertain = 0;              // elements within their bounds, but off by more than kCoarsest
  int64_t exact = 0;                  // elements with exactly one correct bit pattern (e = 0)
  int64_t loose = 0;  // elements of which the bound says little: e is above 1/16 of the values beside them
  ElementEvidence worst;
  // With all of these, the region is within its bounds. Where all are customary, it is `precision_policy`,
  // and the figures are those with them; else it fails.
  std::vector<Diagnosis> arithmetic;
  // Customary ones each of which suffices, too: which of them the kernel uses, other cases tell.
  std::vector<Diagnosis> alternatives;
  // Inconclusive: what would narrow the contract so far that the region fails, if the kernel declared it.
  std::vector<Diagnosis> fails_with = {};
  bool unexplained = false;    // it fails, and no known arithmetic explains it
  bool probable_sums = false;  // decided since its sums have the errors of independent roundings (contract.h)
  std::string change = {};     // of the inputs, where a changed input shows it: "NaN in x[3,:]"
  BothRuns row = {};           // around `worst`, where a changed input shows it
  // It fails in another run on the same inputs, of a kernel whose order of sums varies.
  bool other_run = false;
  bool inherited = false;  // the baseline passed with the same inputs and outputs, bit for bit

  bool sampled() const { return elements < all_elements; }
  // What a signature names it by: the pattern that formed it, else its op.
  const std::string& component() const { return patterns.empty() ? op : patterns.front(); }
};

// Whether it failed in another look at the same run, not by its bound: `worst` then holds both results as
// `want` and `got`.
bool is_disagreement(const RegionVerdict& region);

struct BackendVerdict {
  std::string backend;
  std::vector<RegionVerdict> regions;                  // in the plan's order
  VerdictClass verdict = VerdictClass::reassociation;  // the most severe one

  // The region with the largest median resolution; null if none has a resolution.
  const RegionVerdict* coarsest() const;
};

// One of the two backends of a run; their names may be the same.
enum class BackendRole : uint8_t { baseline, candidate };

struct FailingRegion {
  BackendRole role = BackendRole::candidate;
  size_t region = 0;  // index in the plan
  bool operator==(const FailingRegion&) const = default;
};

// A failure that is no finding, because it belongs to a known issue.
struct KnownFailure {
  std::string issue;  // its name
  Signature signature;
};

struct Verdict {
  VerdictClass verdict = VerdictClass::identical;
  bool finding = false;  // under the case's policy
  // Of the finding; if there is none, of the first known failure.
  std::optional<Signature> signature;
  // The region that the signature is about; empty if it is about no region.
  std::optional<FailingRegion> failing_region;
  std::vector<KnownFailure> known;  // each issue once
  std::string reason;               // unsupported, crash: one line
  std::string details;              // crash: what the backend said beside it, in lines; empty: nothing
  BackendVerdict baseline, candidate;
  int64_t step = 0, steps = 1;    // what is above is of this step; what follows is over all of them
  int64_t unequal = 0;            // graph output elements whose bits differ between the two backends
  int64_t unequal_nonfinite = 0;  // of these: one of the two is NaN or infinite
  int64_t output_elements = 0;
  double max_difference = 0;         // infinite where only one is NaN, or one is infinite
  double max_finite_difference = 0;  // over the elements where both are finite
  std::set<std::string> deviations;  // that the candidate's regions use, as text
  bool exact = false;                // every element of every region has exactly one correct result
  std::vector<std::string> exposed;  // inner values that were outputs in the run that was judged

  // Makes it a finding: of a region, with the class and the symptom that the region has; or of no region.
  // Not if the failure belongs to a known issue: it is added to `known` then.
  void fail(FailingRegion region, const FindIssue& find_issue = {});
  void fail(const Signature& failure, const FindIssue& find_issue = {});
  // If a failure of this signature belongs to a known issue, adds it to `known`; whether it does.
  bool add_known(const Signature& failure, const FindIssue& find_issue);

  // Empty where there is no signature.
  std::string signature_text() const;
  const BackendVerdict& of(BackendRole role) const {
    return role == BackendRole::baseline ? baseline : candidate;
  }
  // Null where there is no failing region.
  const RegionVerdict* failing() const;

 private:
  void fail(const Signature& failure, std::optional<FailingRegion> region, const FindIssue& find_issue);
};

// Of a region that fails.
Signature signature_of(const BackendVerdict& backend, const RegionVerdict& failed);

}  // namespace fusesmith::oracle
