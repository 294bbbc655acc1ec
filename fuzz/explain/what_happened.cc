// One sentence from the causes of a difference: which region, by which of its inner values or roundings, and
// which later ops amplify it.
#include <algorithm>

#include "fuzz/base/table.h"
#include "fuzz/explain/explanation.h"
#include "fuzz/report/verdict_text.h"

namespace fusesmith::fuzz {

namespace {

constexpr size_t kNamed = 3;           // causes
constexpr double kWorthNaming = 0.02;  // share of the final difference
constexpr double kAmplifies = 2;       // growth of the relative difference

std::string of(int64_t part, int64_t whole) { return std::to_string(part) + " of " + std::to_string(whole); }

std::string roundings_text(const RegionVerdict& region) {
  std::vector<std::string> words;
  for (const Deviation& d : region.deviations) {
    const std::string to = "' to " + std::string(name(d.dtype));
    words.push_back(d.kind == Deviation::Kind::drop    ? "skips the rounding of '" + d.value + to
                    : d.kind == Deviation::Kind::maybe ? "may skip the rounding of '" + d.value + to
                    : d.kind == Deviation::Kind::move  ? "rounds '" + d.value + to + " at another place"
                                                       : "rounds '" + d.value + to + " in addition");
  }
  const bool cast = region.symptom == Symptom::explicit_cast_skipped;
  const bool undeclared = region.symptom == Symptom::undeclared_rounding;
  return list_text(words) + (cast         ? " although the graph asks for this cast"
                             : undeclared ? ", which its contract does not declare"
                                          : "");
}

// "30 of 40 elements of its mean differ by up to 4e-08, 2 of 40 of its rstd ...".
std::string own_values_text(const Cause& cause, const std::vector<std::string>& names) {
  std::vector<std::string> words;
  for (const std::string& name : names) {
    for (const Swap& single : cause.swaps) {
      if (!single.inner || single.given.front() != name) continue;
      words.push_back(of(single.inner->unequal, single.inner->elements) + " elements of its " + name +
                      " differ by up to " + short_number(single.inner->largest));
    }
  }
  return list_text(words);
}

// The value comes out as on the baseline, or in a way that would do no harm there.
std::string on_the_way_text(const Cause& cause, const std::vector<std::string>& names,
                            const std::string& baseline) {
  const auto up_to_it = std::find_if(cause.swaps.begin(), cause.swaps.end(), [&](const Swap& swap) {
    return swap.inside_kernel && swap.verdict && swap.given.back() == names.back();
  });
  const bool same = up_to_it != cause.swaps.end() && up_to_it->last_is_same;
  const std::string what = list_text(names);
  if (same)
    return "how its kernel computes its " + what + " (which is the same as on " + baseline +
           "; if the kernel starts with this value, it is within its bounds)";
  return "how its kernel uses its " + what + " (" + own_values_text(cause, names) +
         "; if the kernel starts with the " + what + " of " + baseline +
         ", it is within its bounds; the kernels of " + baseline + " are within their bounds with either)";
}

// The kernel leaves something else than what it computed, or leaves out elements.
std::string store_text(const Cause& cause, const std::string& baseline) {
  std::string text = "what it stores (with all inner values of " + baseline +
                     ", its results among them, its kernel stays out of bounds";
  if (!cause.leaves_out_results()) text += "; with its own the kernels of " + baseline + " are within theirs";
  for (const Swap& swap : cause.swaps) {
    if (swap.not_computed > 0 && swap.inner)
      text += "; " + of(swap.not_computed, swap.inner->elements) + " elements of its " + swap.given.front() +
              " are never computed";
  }
  return text + ")";
}

// Only experiments in the kernel itself name a value; else the sentence says what was excluded.
std::string out_of_bounds_text(const Cause& cause, const std::string& baseline) {
  const std::string text = "is out of its bounds due to ";
  if (const auto inner = cause.inner_cause()) {
    if (inner->in_store) return text + store_text(cause, baseline);
    const std::string names = list_text(inner->names);
    if (inner->on_the_way) return text + on_the_way_text(cause, inner->names, baseline);
    return text + "its " + names + " (" + own_values_text(cause, inner->names) + "; with the " + names +
           " of " + baseline +
           " its kernel is within its bounds, and with those of this region the kernels of " + baseline +
           " are not)";
  }
  const std::vector<std::string> ruled_out = cause.ruled_out();
  return text + "an error inside its kernel (on the same inputs " + baseline + " is " +
         (cause.baseline_fails ? "out of bounds too" : "within its bounds") +
         (ruled_out.empty() ? ""
                            : "; with the " + list_text(ruled_out) + " of " + baseline +
                                  " its kernel stays out of bounds") +
         ")";
}

// Of a region that fails by a second look at its run, not by its bounds.
std::string disagreement_text(const RegionVerdict& region) {
  const Symptom symptom = region.symptom;
  if (symptom == Symptom::guard_overwritten) return "writes outside its tensors";
  if (symptom == Symptom::depends_on_unwritten_memory) return "reads uninitialised memory";
  if (symptom == Symptom::source_overwritten) return "overwrites an input or a state that is still needed";
  if (symptom == Symptom::production_differs)
    return "gives different bits in the production run and in the traced run";
  if (symptom == Symptom::scaling_differs)
    return "does not scale its result if its inputs are scaled by powers of two";
  if (symptom == Symptom::exchange_differs)
    return "gives different bits if elements along a batch axis are exchanged";
  if (symptom == Symptom::depends_on_neighbours)
    return "gives different bits if inputs are changed that its result is not computed from";
  if (symptom == Symptom::depends_on_batch)
    return "gives different bits if fewer rows are computed, and is required to be batch invariant";
  return "gives different bits in a second run on the same inputs";
}

std::string how(const Cause& cause, const std::string& baseline) {
  if (is_disagreement(cause.verdict)) return disagreement_text(cause.verdict);
  if (!cause.kind()) return "gives different bits";
  if (cause.unsteady)
    return "is out of its bounds due to an error inside its kernel (it gives different bits when it runs "
           "again on the same inputs, so that no swap of inner values shows anything)";
  switch (*cause.kind()) {
    case CauseKind::out_of_bounds:
      return out_of_bounds_text(cause, baseline);
    case CauseKind::rounding:
      return roundings_text(cause.verdict);
    case CauseKind::inner_value: {
      const Swap& swap = *cause.exact_swap();
      const std::string given = list_text(swap.given);
      return "computes a different " + given + " (" + own_values_text(cause, swap.given) + "; with the " +
             given + " of " + baseline + " its kernel gives the same bits)";
    }
    case CauseKind::baseline:
      return "is within its bounds, but " + baseline + " is not";
    case CauseKind::order:
      break;
  }
  return "uses another order of operations";
}

std::string step_text(const SpreadStep& step) {
  return "'" + step.value + "' (" + step.op + ", " + std::string(name(step.dtype)) + ")";
}

// The op after the region that amplifies the difference most, then the one that spreads it to most elements.
std::string amplifiers_text(const Cause& cause) {
  const auto larger = std::max_element(cause.spread.begin(), cause.spread.end(),
                                       [](const auto& a, const auto& b) { return a.growth < b.growth; });
  std::string text;
  auto from = cause.spread.begin();
  int64_t before = cause.injected.unequal;
  if (larger != cause.spread.end() && larger->growth > kAmplifies) {
    text = "; " + step_text(*larger) + " amplifies it " + short_number(larger->growth) + " times (" +
           of(larger->difference.unequal, larger->difference.elements) + " elements differ)";
    from = larger + 1;
    before = larger->difference.unequal;
  }
  auto wider = cause.spread.end();
  double most = 1.25;
  for (; from != cause.spread.end(); ++from) {
    const double factor =
        before == 0 ? 0 : static_cast<double>(from->difference.unequal) / static_cast<double>(before);
    if (factor > most) {
      most = factor;
      wider = from;
    }
    before = from->difference.unequal;
  }
  if (wider == cause.spread.end()) return text;
  return text + "; " + step_text(*wider) + " spreads it to " +
         of(wider->difference.unequal, wider->difference.elements) + " elements (" +
         std::to_string(wider->difference.beyond) + " beyond the tolerance of torch.testing.assert_close)";
}

std::string error_text(const Cause& cause) {
  const RegionVerdict& region = cause.verdict;
  if (is_disagreement(region)) return "";
  if (region.verdict == VerdictClass::exceptional) return " (a NaN or an infinity)";
  if (region.worst_share > 0 && region.worst.bound == 0) return " (where the result is exact)";
  return " (error " + short_number(region.worst_share) + " of its bound" +
         (cause.judged ? ")" : " in the run)");
}

std::string place_text(const RegionVerdict& region) {
  return "region '" + region.name + "' (" +
         (region.patterns.empty() ? region.op : list_text(region.patterns)) + ")";
}

std::string cause_text(const Cause& cause, const Verdict& verdict) {
  return place_text(cause.verdict) + " " + how(cause, verdict.baseline.backend) + ", which injects at most " +
         short_number(cause.injected.largest) + error_text(cause) + " in " +
         of(cause.injected.unequal, cause.injected.elements) + " elements" + amplifiers_text(cause) +
         (cause.share ? "; this is " + percent(*cause.share) + " of the difference at the outputs"
                      : " (its effect on the outputs was not measured)");
}

// Regions that fail first, then the largest few, and of each other kind of cause the largest.
std::vector<const Cause*> worth_naming(const std::vector<Cause>& causes) {
  std::vector<const Cause*> ranked, named;
  for (const Cause& cause : causes) ranked.push_back(&cause);
  std::stable_partition(ranked.begin(), ranked.end(),
                        [](const Cause* cause) { return cause->verdict.symptom != Symptom::none; });
  for (const Cause* cause : ranked) {
    const bool new_kind = std::none_of(named.begin(), named.end(),
                                       [&](const Cause* other) { return other->kind() == cause->kind(); });
    const bool large = named.size() < kNamed && (!cause->share || *cause->share >= kWorthNaming);
    if (named.empty() || large || (new_kind && cause->share && *cause->share > 0)) named.push_back(cause);
  }
  return named;
}

// The region that fails, where it is none of the causes.
std::string failing_text(const Verdict& verdict, const Causes& causes) {
  const RegionVerdict* failing = verdict.failing();
  const bool known = std::any_of(causes.causes.begin(), causes.causes.end(), [&](const Cause& cause) {
    return verdict.failing_region == FailingRegion{BackendRole::candidate, cause.region};
  });
  if (!failing || known) return "";
  return "R" + place_text(*failing).substr(1) + " of " + verdict.of(verdict.failing_region->role).backend +
         " " + (is_disagreement(*failing) ? disagreement_text(*failing) : "is out of its bounds") + ". ";
}

}  // namespace

std::string what_happened(const Verdict& verdict, const Causes& causes) {
  const std::string pair = verdict.baseline.backend + " and " + verdict.candidate.backend;
  if (verdict.baseline.regions.empty()) return sentence(verdict);
  const Difference& outputs = causes.outputs;  // of the step that is explained
  const std::string failing = failing_text(verdict, causes);
  if (causes.causes.empty()) {
    if (!failing.empty()) return failing.substr(0, failing.size() - 1);
    if (outputs.unequal == 0 && causes.left_out.empty())
      return "On the same inputs, every region gives the same bits on " + pair + ".";
    return "The experiments show no region that makes a difference between " + pair +
           (causes.left_out.empty() ? "." : "; some experiments were not made.");
  }
  if (outputs.unequal == 0)
    return failing + counted(static_cast<int64_t>(causes.causes.size()), "region") + " of " +
           verdict.candidate.backend + " gave other bits than " + verdict.baseline.backend +
           ", but the outputs are equal.";
  const std::vector<const Cause*> named = worth_naming(causes.causes);
  std::string text = failing +
                     (verdict.steps > 1 ? "At step " + std::to_string(verdict.step) + " of " +
                                              std::to_string(verdict.steps) + ", "
                                        : "") +
                     std::to_string(outputs.unequal) + " of " + counted(outputs.elements, "output element") +
                     (outputs.unequal == 1 ? " differs" : " differ");
  for (size_t i = 0; i < named.size(); ++i)
    text += (i == 0 ? "" : "; and") +
            std::string(named[i]->share ? " because "
                        : i == 0        ? ", and "
                                        : " ") +
            cause_text(*named[i], verdict);
  return text + ".";
}

}  // namespace fusesmith::fuzz
