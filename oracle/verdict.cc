#include "oracle/verdict.h"

namespace fusesmith::oracle {

bool is_disagreement(const RegionVerdict& region) {
  switch (region.symptom) {
    case Symptom::guard_overwritten:
    case Symptom::depends_on_unwritten_memory:
    case Symptom::repeat_differs:
    case Symptom::production_differs:
    case Symptom::source_overwritten:
    case Symptom::scaling_differs:
    case Symptom::exchange_differs:
      return true;
    default:
      return false;
  }
}

void Verdict::fail(FailingRegion region) {
  const BackendVerdict& backend = of(region.role);
  const RegionVerdict& failed = backend.regions.at(region.region);
  finding = true;
  verdict = failed.verdict;
  failing_region = region;
  signature = Signature{failed.verdict, backend.backend, failed.component(), failed.dtype, failed.symptom};
}

void Verdict::fail(VerdictClass new_verdict, const std::string& component, std::optional<Dtype> dtype,
                   Symptom symptom) {
  finding = true;
  verdict = new_verdict;
  failing_region.reset();
  signature = Signature{new_verdict, candidate.backend, component, dtype, symptom};
}

std::string Verdict::signature_text() const { return signature ? to_string(*signature) : ""; }

const RegionVerdict* Verdict::failing() const {
  return failing_region ? &of(failing_region->role).regions.at(failing_region->region) : nullptr;
}

}  // namespace fusesmith::oracle
