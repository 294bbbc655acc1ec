#include "fuzz/explain/conclusion.h"

#include <algorithm>

#include "fuzz/report/verdict_text.h"

namespace fusesmith::fuzz {

namespace {

std::vector<std::string> named_by(const Cause& cause) {
  if (is_disagreement(cause.verdict) || !cause.kind()) return {};
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
  const Guilty failing = guilty_region(verdict);
  const auto& all = causes.causes;
  const auto cause = failing.region ? std::find_if(all.begin(), all.end(),
                                                   [&](const Cause& one) {
                                                     return failing.backend == &verdict.candidate &&
                                                            one.region == failing.region->region;
                                                   })
                                    : all.begin();
  if (cause != all.end()) {
    const std::string kind(is_disagreement(cause->verdict) ? cause->verdict.symptom
                           : cause->kind()                 ? name(*cause->kind())
                                                           : "");
    return Conclusion{verdict.candidate.backend, cause->verdict, kind, named_by(*cause), cause->ruled_out()};
  }
  if (!failing.region) return {};
  const bool second_look = is_disagreement(*failing.region);
  return Conclusion{failing.backend->backend,
                    *failing.region,
                    second_look ? failing.region->symptom : std::string(name(CauseKind::out_of_bounds)),
                    {},
                    {}};
}

}  // namespace fusesmith::fuzz
