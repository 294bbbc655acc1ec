#include "fuzz/explain/conclusion.h"

#include <algorithm>

#include "fuzz/report/verdict_text.h"

namespace fusesmith::fuzz {

namespace {

std::vector<std::string> named_by(const Cause& cause) {
  if (is_disagreement(cause.verdict) || cause.unsteady || !cause.kind()) return {};
  std::vector<std::string> named;
  if (*cause.kind() == CauseKind::rounding) {
    for (const Deviation& deviation : cause.verdict.deviations) named.push_back(deviation.value);
    return named;
  }
  if (*cause.kind() == CauseKind::inner_value) return cause.exact_swap()->given;
  const auto inner = cause.inner_cause();
  return inner ? inner->names : named;
}

}  // namespace

std::optional<Conclusion> conclude(const Verdict& verdict, const Causes& causes) {
  const RegionVerdict* failing = verdict.failing();
  const auto& all = causes.causes;
  const auto cause =
      failing
          ? std::find_if(all.begin(), all.end(),
                         [&](const Cause& one) {
                           return verdict.failing_region == FailingRegion{BackendRole::candidate, one.region};
                         })
          : all.begin();
  if (cause != all.end()) {
    const std::string kind(is_disagreement(cause->verdict) ? name(cause->verdict.symptom)
                           : cause->unsteady               ? name(Symptom::repeat_differs)
                           : cause->kind()                 ? name(*cause->kind())
                                                           : "");
    return Conclusion{verdict.candidate.backend, cause->verdict, kind, named_by(*cause), cause->ruled_out()};
  }
  if (!failing) return {};
  const bool second_look = is_disagreement(*failing);
  return Conclusion{verdict.of(verdict.failing_region->role).backend,
                    *failing,
                    std::string(second_look ? name(failing->symptom) : name(CauseKind::out_of_bounds)),
                    {},
                    {}};
}

}  // namespace fusesmith::fuzz
