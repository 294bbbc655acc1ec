#include "fuzz/report/verdict_text.h"

#include <algorithm>

#include "backends/remote/worker_names.h"
#include "fuzz/report/resolution_text.h"
#include "graph/element_index.h"

namespace fusesmith::fuzz {

namespace {

std::string made_by(const RegionVerdict& region) {
  return region.patterns.empty() ? region.op : list_text(region.patterns);
}

std::string deviations_text(const RegionVerdict& region) {
  std::vector<std::string> words;
  for (const Deviation& deviation : region.deviations) words.push_back(to_string(deviation));
  return list_text(words) + (region.declared || words.empty() ? "" : " (undeclared)");
}

std::string place(const RegionVerdict& region) {
  return "region '" + region.name + "' (" + made_by(region) + ", " + std::string(name(region.dtype)) + ")";
}

// The regions to show, in the plan's order.
std::vector<const RegionVerdict*> choose(const BackendVerdict& verdict, Regions which) {
  constexpr size_t kWorst = 3;
  std::vector<const RegionVerdict*> regions;
  for (const RegionVerdict& region : verdict.regions) regions.push_back(&region);
  if (which == Regions::all || regions.size() <= kWorst) return regions;
  std::stable_sort(regions.begin(), regions.end(),
                   [](auto* a, auto* b) { return a->worst_share > b->worst_share; });
  const std::vector<const RegionVerdict*> worst(regions.begin(), regions.begin() + kWorst);
  std::erase_if(regions, [&](const RegionVerdict* region) {
    const bool is_worst =
        region->worst_share > 0 && std::find(worst.begin(), worst.end(), region) != worst.end();
    return !is_worst && region->patterns.empty() && region->verdict <= VerdictClass::reassociation;
  });
  std::sort(regions.begin(), regions.end(), [](auto* a, auto* b) { return a->region < b->region; });
  return regions;
}

const RegionVerdict* worst_of(const BackendVerdict& verdict) {
  const auto worst =
      std::max_element(verdict.regions.begin(), verdict.regions.end(),
                       [](const auto& a, const auto& b) { return a.worst_share < b.worst_share; });
  return worst == verdict.regions.end() ? nullptr : &*worst;
}

// "2 of 10 output elements differ between cpu and cpu_fused, by at most 0.25"; what is NaN or infinite on one
// of them is counted apart.
std::string unequal_text(const Verdict& verdict) {
  std::string text = std::to_string(verdict.unequal) + " of " + outputs_text(verdict) +
                     (verdict.unequal == 1 ? " differs between " : " differ between ") +
                     verdict.baseline.backend + " and " + verdict.candidate.backend;
  const int64_t finite = verdict.unequal - verdict.unequal_nonfinite;
  const std::string by_at_most = "by at most " + short_number(verdict.max_finite_difference);
  if (verdict.unequal == 0) return text;
  if (verdict.unequal_nonfinite == 0) return text + ", " + by_at_most;
  text += ", " + (finite == 0 ? "" : std::to_string(verdict.unequal_nonfinite) + " of them ") +
          "where one of the two is NaN or infinite";
  return finite == 0 ? text : text + ", the others " + by_at_most;
}

// Empty where the bound is 0 and elements lie outside: the evidence says by how many ulps.
std::string worst_ratio_text(const RegionVerdict& region) {
  return region.outside > 0 && region.worst.bound == 0 ? "" : short_number(region.worst_share);
}

// "the worst error is 0.31 of its bound, in region 'o' (sdpa, f32)".
std::string worst_text(const Verdict& verdict) {
  const RegionVerdict* region = worst_of(verdict.candidate);
  if (!region) return "";
  return "; the worst error of " + verdict.candidate.backend + " is " + short_number(region->worst_share) +
         " of its bound, in " + place(*region) +
         (verdict.steps > 1 ? " at step " + std::to_string(verdict.step) : "");
}

// "the product is rounded before the bias is added, as PyTorch does".
std::string says_text(const RegionVerdict& region) {
  std::string text;
  for (const Diagnosis& one : region.arithmetic) text += (text.empty() ? "" : "; ") + one.says;
  return text;
}

// "lowerings = ["linear.bias_after"]".
std::string declarations_text(const RegionVerdict& region) {
  std::string text;
  for (const Diagnosis& one : region.arithmetic) text += (text.empty() ? "" : " and ") + one.declaration;
  return text;
}

// Of the first region that customary arithmetic explains; empty if there is none.
std::string customary_sentence(const Verdict& verdict) {
  for (const BackendVerdict* backend : {&verdict.candidate, &verdict.baseline}) {
    for (const RegionVerdict& region : backend->regions) {
      if (region.arithmetic.empty() || region.verdict != VerdictClass::precision_policy) continue;
      return unequal_text(verdict) + "; " + place(region) + " of " + backend->backend +
             " is right if it is meant to be computed so: " + says_text(region) + ". To say so, declare " +
             declarations_text(region) + (verdict.finding ? "; the policy is strict." : ".");
    }
  }
  return "";
}

std::string policy_sentence(const Verdict& verdict) {
  if (std::string customary = customary_sentence(verdict); !customary.empty()) return customary;
  std::string drops;
  bool declared = true;
  for (const BackendVerdict* backend : {&verdict.baseline, &verdict.candidate}) {
    for (const RegionVerdict& region : backend->regions) {
      if (region.deviations.empty()) continue;
      declared = declared && region.declared;
      drops += (drops.empty() ? "" : "; ") + place(region) + " of " + backend->backend + ": " +
               deviations_text(region);
    }
  }
  return unequal_text(verdict) + "; within bounds only if implicit roundings are dropped or moved, " +
         (declared ? "which the contracts declare" : "which no contract declares") +
         (declared && verdict.finding ? ", but the policy is strict" : "") + ": " + drops + ".";
}

}  // namespace

std::string fails_with_text(const Verdict& verdict) {
  for (const BackendVerdict* backend : {&verdict.candidate, &verdict.baseline}) {
    for (const RegionVerdict& region : backend->regions) {
      if (region.fails_with.empty()) continue;
      const Diagnosis& one = region.fails_with.front();
      return " It is wrong if it is meant that " + one.says + "; to have that judged, declare " +
             one.declaration + ".";
    }
  }
  return "";
}

std::string outputs_text(const Verdict& verdict) {
  return counted(verdict.output_elements, "output element") +
         (verdict.steps > 1 ? " of " + std::to_string(verdict.steps) + " steps" : "");
}

std::string shown_step_text(const Verdict& verdict) {
  if (verdict.steps == 1 || verdict.baseline.regions.empty()) return "";
  return "Each step was judged. Regions and evidence are of step " + std::to_string(verdict.step) + " of " +
         std::to_string(verdict.steps) +
         " (counted from 0), the most severe; output elements are counted over all.\n";
}

Table region_table(const BackendVerdict& verdict, Regions which, std::span<const Difference> differences) {
  std::vector<std::string> heading = {"region",      "made by",      "dtype",    "verdict", "deviations",
                                      "worst/bound", "median/bound", "elements", "exact"};
  const bool compared = !differences.empty();
  if (compared) heading.insert(heading.end(), {"unequal", "largest difference"});
  Table table(heading);
  for (const RegionVerdict* region : choose(verdict, which)) {
    std::vector<std::string> row = {
        region->name,
        made_by(*region),
        std::string(name(region->dtype)),
        std::string(name(region->verdict)),
        deviations_text(*region),
        worst_ratio_text(*region),
        region->exact == region->elements ? "" : short_number(region->median_share),
        std::to_string(region->elements) +
            (region->sampled() ? " of " + std::to_string(region->all_elements) : ""),
        std::to_string(region->exact)};
    if (compared) {
      const Difference difference =
          region->region < differences.size() ? differences[region->region] : Difference{};
      row.insert(row.end(), {std::to_string(difference.unequal), short_number(difference.largest)});
    }
    table.add(std::move(row));
  }
  return table;
}

std::string sampled_text(const Verdict& verdict) {
  for (const BackendVerdict* backend : {&verdict.candidate, &verdict.baseline}) {
    int64_t judged = 0, all = 0;
    for (const RegionVerdict& region : backend->regions)
      judged += region.elements, all += region.all_elements;
    if (judged < all)
      return " Sampled " + std::to_string(judged) + " of " + counted(all, "element") +
             "; the bounds of the others were not checked.";
  }
  return "";
}

std::string loose_text(const Verdict& verdict) {
  if (verdict.verdict != VerdictClass::reassociation && verdict.verdict != VerdictClass::precision_policy)
    return "";
  for (const BackendVerdict* backend : {&verdict.candidate, &verdict.baseline}) {
    int64_t loose = 0, all = 0;
    for (const RegionVerdict& region : backend->regions) loose += region.loose, all += region.elements;
    if (loose > 0)
      return " Of " + backend->backend + ", the bounds of " + std::to_string(loose) + " of " +
             counted(all, "element") +
             " are too large to say much (above 1/16 of the largest value beside them).";
  }
  return "";
}

std::string known_text(const Verdict& verdict) {
  std::vector<std::string> names;
  for (const KnownFailure& failure : verdict.known) names.push_back(failure.issue);
  return names.empty() ? "" : (names.size() == 1 ? ", known issue " : ", known issues ") + list_text(names);
}

namespace {

// "o[1,4]"; the row-major number if the shape is not known; "o" for a scalar.
std::string element_text(const ElementEvidence& worst) {
  if (!worst.shape.empty()) return worst.value + to_string(unravelled(worst.element, worst.shape));
  return worst.value + (worst.element > 0 ? "[" + std::to_string(worst.element) + "]" : "");
}

std::string evidence_of(const RegionVerdict& region, const std::string& backend) {
  const ElementEvidence& worst = region.worst;
  const std::string where = place(region) + " of " + backend;
  if (region.symptom == Symptom::guard_overwritten) return where + " writes outside its memory";
  const bool scaling = region.symptom == Symptom::scaling_differs;
  if (scaling || region.symptom == Symptom::exchange_differs) {
    return where + " does not change as required if " +
           (scaling ? "inputs are scaled by powers of two: "
                    : "elements along a batch axis are exchanged (" + region.change + "): ") +
           element_text(worst) + " is " + number_text(worst.got) + ", expected " + number_text(worst.want);
  }
  if (region.symptom == Symptom::depends_on_neighbours) {
    return where + " depends on elements that it is not computed from: " + element_text(worst) + " is " +
           number_text(worst.want) + ", but " + number_text(worst.got) + " with " + region.change;
  }
  if (region.symptom == Symptom::depends_on_batch) {
    return where + " is not batch invariant, as it has to be: " + element_text(worst) + " is " +
           number_text(worst.want) + " among all rows and " + number_text(worst.got) + " with " +
           region.change + " alone";
  }
  if (is_disagreement(region)) {
    const char* how = region.symptom == Symptom::depends_on_unwritten_memory
                          ? "with other data in unwritten memory"
                      : region.symptom == Symptom::production_differs ? "in the production run"
                      : region.symptom == Symptom::source_overwritten ? "after the run"
                                                                      : "in another run";
    // A worker may tell where, but not which values.
    const bool has_values = number_text(worst.want) != number_text(worst.got);
    if (region.symptom == Symptom::source_overwritten)
      return where + " overwrites its input: " + element_text(worst) +
             (has_values ? " is " + number_text(worst.got) + " after the run and " + number_text(worst.want) +
                               " before it"
                         : " differs after the run");
    return where + " is inconsistent: " + element_text(worst) + " " +
           (has_values ? "is " + number_text(worst.want) + ", but " + number_text(worst.got) : "differs") +
           " " + how;
  }
  const std::string steps =
      worst.steps_outside > 0 ? ", " + std::to_string(worst.steps_outside) + " ulp outside" : "";
  return where + ": " + element_text(worst) + " is " + number_text(worst.got) +
         (region.other_run ? " in another run on the same inputs" : "") +
         (region.symptom == Symptom::declared_rounding ? ", allowed under the strict policy is ["
                                                       : ", allowed is [") +
         number_text(worst.lo) + ", " + number_text(worst.hi) + "] (exact " + number_text(worst.want) +
         ", error bound " + short_number(worst.bound) + steps + "); " + std::to_string(region.outside) +
         " of " + counted(region.elements, region.sampled() ? "sampled element" : "element") + " outside";
}

}  // namespace

std::string evidence_text(const Verdict& verdict) {
  const RegionVerdict* failing = verdict.failing();
  return failing ? evidence_of(*failing, verdict.of(verdict.failing_region->role).backend) : "";
}

std::string other_failure_text(const Verdict& verdict) {
  if (!verdict.failing_region) return "";
  const bool by_candidate = verdict.failing_region->role == BackendRole::candidate;
  const BackendVerdict& other = by_candidate ? verdict.baseline : verdict.candidate;
  const auto failed =
      std::find_if(other.regions.begin(), other.regions.end(),
                   [](const RegionVerdict& region) { return region.symptom != Symptom::none; });
  if (failed == other.regions.end()) return "";
  return other.backend + " fails as well: " + evidence_of(*failed, other.backend) + ".";
}

namespace {

// What a user's function can declare; libraries are documented, or not, elsewhere.
std::string order_hint(const Verdict& verdict) {
  const RegionVerdict* failing = verdict.failing();
  if (!failing || failing->symptom != Symptom::repeat_differs) return "";
  const auto* kind = backends::worker_kind(verdict.of(verdict.failing_region->role).backend);
  if (!kind || kind->compiles) return "";
  return " If sums are meant to be added in another order in each run, as by atomic operations, declare "
         "arithmetic = {\"order_varies\": True}: each run is then held to its bounds.";
}

std::string plain_sentence(const Verdict& verdict) {
  const std::string pair = verdict.baseline.backend + " and " + verdict.candidate.backend;
  switch (verdict.verdict) {
    case VerdictClass::identical:
      return (verdict.output_elements == 1 ? "The output element has"
                                           : "All " + outputs_text(verdict) + " have") +
             " the same bits on " + pair + worst_text(verdict) + ".";
    case VerdictClass::reassociation:
      return unequal_text(verdict) +
             "; every region is within its bounds on the inputs that it received, with every rounding " +
             "where the graph has it" + worst_text(verdict) + ".";
    case VerdictClass::precision_policy:
      return policy_sentence(verdict);
    case VerdictClass::inconclusive:
      return unequal_text(verdict) + "; the error bound is too large to decide." + fails_with_text(verdict);
    case VerdictClass::unsupported:
    case VerdictClass::out_of_memory:
    case VerdictClass::overloaded:
    case VerdictClass::timeout:
    case VerdictClass::crash:
      return std::string(name(verdict.verdict)) + ": " + verdict.reason + ".";
    case VerdictClass::nondeterministic:
      return "A second run of the same case gave different bits: " +
             (verdict.reason.empty() ? evidence_text(verdict) : verdict.reason) + "." + order_hint(verdict);
    case VerdictClass::exceptional:
    case VerdictClass::defect:
      break;
  }
  const std::string evidence = evidence_text(verdict);
  if (verdict.failing_region && is_disagreement(*verdict.failing()))
    return (verdict.failing()->symptom == Symptom::depends_on_batch ? "A requirement is not met: "
                                                                    : "The kernel is incorrect: ") +
           evidence + ".";
  if (verdict.signature && verdict.signature->symptom == Symptom::bad_reply)
    return "The reply of the worker is wrong: " + verdict.reason + ".";
  const std::string why = evidence.empty() ? verdict.reason : evidence;
  const RegionVerdict* failing = verdict.failing();
  if (failing && !failing->arithmetic.empty())
    return "Wrong, unless it is meant that " + says_text(*failing) + " (declare " +
           declarations_text(*failing) + "): " + why + ".";
  return (failing && failing->unexplained ? "No known arithmetic gives this result"
                                          : "No correct execution gives this result") +
         (why.empty() ? "" : ": " + why) + ".";
}

}  // namespace

std::string sentence(const Verdict& verdict) {
  std::string text =
      plain_sentence(verdict) + resolution_text(verdict) + sampled_text(verdict) + loose_text(verdict);
  if (verdict.exposed.empty()) return text;
  return text + " Judged with " + counted(static_cast<int64_t>(verdict.exposed.size()), "inner value") +
         " as further outputs.";
}

}  // namespace fusesmith::fuzz
