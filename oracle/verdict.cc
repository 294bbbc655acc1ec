#include "oracle/verdict.h"

#include <algorithm>

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
    case Symptom::depends_on_neighbours:
    case Symptom::depends_on_batch:
      return true;
    default:
      return false;
  }
}

Signature signature_of(const BackendVerdict& backend, const RegionVerdict& failed) {
  return {failed.verdict, backend.backend, failed.component(), failed.dtype, failed.symptom};
}

const RegionVerdict* BackendVerdict::coarsest() const {
  const RegionVerdict* coarsest = nullptr;
  for (const RegionVerdict& region : regions) {
    if (region.resolution.elements > 0 &&
        (!coarsest || region.resolution.median > coarsest->resolution.median))
      coarsest = &region;
  }
  return coarsest;
}

void Verdict::fail(FailingRegion region, const FindIssue& find_issue) {
  const BackendVerdict& backend = of(region.role);
  fail(signature_of(backend, backend.regions.at(region.region)), region, find_issue);
}

void Verdict::fail(const Signature& failure, const FindIssue& find_issue) { fail(failure, {}, find_issue); }

void Verdict::fail(const Signature& failure, std::optional<FailingRegion> region,
                   const FindIssue& find_issue) {
  const bool is_known = add_known(failure, find_issue);
  if (is_known && signature) return;  // the first one is shown
  finding = !is_known;
  verdict = failure.verdict;
  failing_region = region;
  signature = failure;
}

bool Verdict::add_known(const Signature& failure, const FindIssue& find_issue) {
  const std::string issue = find_issue ? find_issue(failure) : "";
  if (issue.empty()) return false;
  const bool is_new = std::none_of(known.begin(), known.end(),
                                   [&](const KnownFailure& other) { return other.issue == issue; });
  if (is_new) known.push_back({issue, failure});
  return true;
}

std::string Verdict::signature_text() const { return signature ? to_string(*signature) : ""; }

const RegionVerdict* Verdict::failing() const {
  return failing_region ? &of(failing_region->role).regions.at(failing_region->region) : nullptr;
}

}  // namespace fusesmith::oracle
