// One sentence from the causes of a difference: which region, by which of its inner values or roundings, and
// what made more of it afterwards.
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

std::string roundings_text(const std::vector<Deviation>& deviations) {
  std::vector<std::string> words;
  for (const Deviation& d : deviations) {
    const std::string to = "' to " + std::string(name(d.dtype));
    words.push_back(d.kind == Deviation::Kind::drop   ? "skips the rounding of '" + d.value + to
                    : d.kind == Deviation::Kind::move ? "rounds '" + d.value + to + " at another place"
                                                      : "rounds '" + d.value + to + " in addition");
  }
  return list_text(words);
}

// "its mean differs in 30 of 40 rows by up to 4e-08 and its rstd ...".
std::string own_values_text(const Cause& cause, const Swap& swap) {
  std::string text;
  for (const std::string& name : swap.given) {
    for (const Swap& single : cause.swaps) {
      if (!single.inner || single.given.front() != name) continue;
      text += (text.empty() ? "its " : ", its ") + name + " differs in " +
              of(single.inner->unequal, single.inner->elements) + " rows by up to " +
              short_number(single.inner->largest);
    }
  }
  return text;
}

// The one inner value that, taken from the baseline, leaves little of the difference.
std::string guilty_value_text(const Cause& cause, const std::string& baseline) {
  constexpr double kLittle = 0.1;
  const Swap* best = nullptr;
  for (const Swap& swap : cause.swaps) {
    const bool little = swap.given.size() == 1 && swap.outputs.largest <= kLittle * cause.injected.largest;
    if (little && (!best || swap.outputs.largest < best->outputs.largest)) best = &swap;
  }
  return best ? " by its '" + best->given.front() + "' (with that of " + baseline + " at most " +
                    short_number(best->outputs.largest) + " is left)"
              : "";
}

std::string how(const Cause& cause, const std::string& baseline) {
  if (is_disagreement(cause.verdict)) return "disagrees with itself";
  if (!cause.kind()) return "leaves other bits";
  switch (*cause.kind()) {
    case CauseKind::out_of_bounds:
      return "leaves its bounds" + guilty_value_text(cause, baseline);
    case CauseKind::rounding:
      return roundings_text(cause.verdict.deviations);
    case CauseKind::inner_value: {
      const Swap& swap = *cause.exact_swap(true);
      return "computes other statistics (" + own_values_text(cause, swap) + "; with the " +
             list_text(swap.given) + " of " + baseline + " its own formula gives the same bits)";
    }
    case CauseKind::order:
      break;
  }
  const Swap* swap = cause.exact_swap(false);
  return swap ? "computes '" + swap->given.front() + "' in another order (with that of " + baseline +
                    " the rest gives the same bits)"
              : "computes in another order";
}

std::string step_text(const SpreadStep& step) {
  return "'" + step.value + "' (" + step.op + ", " + std::string(name(step.dtype)) + ")";
}

// What makes more of the difference on its way: larger, and then in more elements.
std::string amplifiers_text(const Cause& cause) {
  const auto larger = std::max_element(cause.spread.begin(), cause.spread.end(),
                                       [](const auto& a, const auto& b) { return a.growth < b.growth; });
  std::string text;
  auto from = cause.spread.begin();
  int64_t before = cause.injected.unequal;
  if (larger != cause.spread.end() && larger->growth > kAmplifies) {
    text = ", " + step_text(*larger) + " amplifies that " + short_number(larger->growth) +
           " times (the other value in " + of(larger->difference.unequal, larger->difference.elements) + ")";
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
  return text + ", " + step_text(*wider) + " spreads it to " +
         of(wider->difference.unequal, wider->difference.elements) + " (" +
         std::to_string(wider->difference.beyond) + " beyond the usual tolerance)";
}

std::string cause_text(const Cause& cause, const Verdict& verdict) {
  const RegionVerdict& region = cause.verdict;
  const std::string made_by = region.patterns.empty() ? region.op : list_text(region.patterns);
  return "region '" + region.name + "' (" + made_by + ") " + how(cause, verdict.baseline.backend) +
         ", which injects at most " + short_number(cause.injected.largest) + " (error " +
         short_number(region.worst_share) +
         (cause.judged ? " of its bound) in " : " of its bound in the run) in ") +
         of(cause.injected.unequal, cause.injected.elements) + " elements" + amplifiers_text(cause) +
         (cause.share ? ": " + percent(*cause.share) + " of the difference at the outputs"
                      : " (what follows from that was not measured)");
}

// The largest few, and of each other kind of cause the largest, however small its share.
std::vector<const Cause*> worth_naming(const std::vector<Cause>& causes) {
  std::vector<const Cause*> named;
  for (const Cause& cause : causes) {
    const bool new_kind = std::none_of(named.begin(), named.end(),
                                       [&](const Cause* other) { return other->kind() == cause.kind(); });
    const bool large = named.size() < kNamed && (!cause.share || *cause.share >= kWorthNaming);
    if (named.empty() || large || (new_kind && cause.share && *cause.share > 0)) named.push_back(&cause);
  }
  return named;
}

}  // namespace

std::string what_happened(const Verdict& verdict, const Causes& causes) {
  const std::string pair = verdict.baseline.backend + " and " + verdict.candidate.backend;
  if (verdict.baseline.regions.empty()) return sentence(verdict);
  const Difference& outputs = causes.outputs;  // of the step that is explained
  if (causes.causes.empty()) {
    if (outputs.unequal == 0 && causes.left_out.empty())
      return "On the same inputs every region leaves the same bits on " + pair + ".";
    return "No region was shown to make a difference between " + pair +
           (causes.left_out.empty() ? "." : "; experiments were left out.");
  }
  if (outputs.unequal == 0)
    return counted(static_cast<int64_t>(causes.causes.size()), "region") + " of " +
           verdict.candidate.backend + " left other bits than " + verdict.baseline.backend +
           ", none of which reach the outputs.";
  const std::vector<const Cause*> named = worth_naming(causes.causes);
  std::string text = (verdict.steps > 1 ? "At step " + std::to_string(verdict.step) + " of " +
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
