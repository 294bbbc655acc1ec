// The signature of a finding: the class of its verdict, the backend, the failing pattern or op, the dtype and
// the symptom. Findings with the same signature count as the same bug. A new class or symptom:
// docs/adding.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "graph/dtype.h"

namespace fusesmith::oracle {

// Ordered by severity: the class of a run is the most severe one of its regions.
enum class VerdictClass : uint8_t {
  identical,
  reassociation,
  precision_policy,
  inconclusive,
  unsupported,
  out_of_memory,
  overloaded,
  timeout,
  crash,
  nondeterministic,
  exceptional,
  defect,
};
inline constexpr std::array<std::string_view, 12> kVerdictNames = {
    "identical",   "reassociation",    "precision_policy", "inconclusive",
    "unsupported", "out_of_memory",    "overloaded",       "timeout",
    "crash",       "nondeterministic", "exceptional",      "defect"};
std::string_view name(VerdictClass verdict);
std::optional<VerdictClass> parse_verdict(std::string_view text);
// Whether the machine had too little memory or time for the case: it says nothing of the backends.
constexpr bool is_shortage(VerdictClass verdict) {
  return verdict == VerdictClass::out_of_memory || verdict == VerdictClass::overloaded;
}

// The check that failed, and how.
enum class Symptom : uint8_t {
  none,
  out_of_bounds,          // a finite value lies outside its interval
  nan,                    // NaN or infinity where the interval has none, or the reverse
  infinity,               //
  missing_nan,            //
  missing_infinity,       //
  undeclared_rounding,    // within bounds only with a deviation that the contract does not declare
  declared_rounding,      // the same with a declared one, under the strict policy
  explicit_cast_skipped,  // within bounds only without the rounding of a cast in the graph
  guard_overwritten,      // this one and the next six: see Disagreement::Kind
  depends_on_unwritten_memory,
  repeat_differs,
  production_differs,
  source_overwritten,
  scaling_differs,
  exchange_differs,
  depends_on_neighbours,
  depends_on_batch,
  input_changed,  // the trace holds other inputs than the run was given
  thrown,         // the backend threw an exception
  died,           // this one and the next two: a worker process ended, was late, or broke its protocol
  timed_out,
  bad_reply,
  device_error,  // the device fails whenever the case runs alone
};
inline constexpr std::array<std::string_view, 24> kSymptomNames = {"",
                                                                   "out_of_bounds",
                                                                   "nan",
                                                                   "infinity",
                                                                   "missing_nan",
                                                                   "missing_infinity",
                                                                   "undeclared_rounding",
                                                                   "declared_rounding",
                                                                   "explicit_cast_skipped",
                                                                   "guard_overwritten",
                                                                   "depends_on_unwritten_memory",
                                                                   "repeat_differs",
                                                                   "production_differs",
                                                                   "source_overwritten",
                                                                   "scaling_differs",
                                                                   "exchange_differs",
                                                                   "depends_on_neighbours",
                                                                   "depends_on_batch",
                                                                   "input_changed",
                                                                   "thrown",
                                                                   "died",
                                                                   "timed_out",
                                                                   "bad_reply",
                                                                   "device_error"};
static_assert(kSymptomNames.size() == static_cast<size_t>(Symptom::device_error) + 1);
std::string_view name(Symptom symptom);

struct Signature {
  VerdictClass verdict = VerdictClass::defect;
  std::string backend;
  std::string component;       // a pattern, an op with its semantic attributes, "inputs" or "graph"
  std::optional<Dtype> dtype;  // none: a finding of no dtype, printed as "any"
  Symptom symptom = Symptom::none;
  bool operator==(const Signature&) const = default;
};

// The backend as signatures contain it: of a worker's name, which may be a whole command, the words without
// their folders; not too long for the name of a file.
std::string signature_word(const std::string& backend);

// One word that is safe as a file name: "defect-cpu_fused-sdpa-bf16-out_of_bounds". Folders of work
// directories and `expect` of case files hold it; nothing reads it back.
std::string to_string(const Signature& signature);

// The name of the known issue that a failure of this signature belongs to; empty: of none. An empty function:
// no issues are known.
using FindIssue = std::function<std::string(const Signature&)>;

}  // namespace fusesmith::oracle
