// An explanation as tables.
#include <algorithm>

#include "fuzz/explanation.h"
#include "fuzz/table.h"

namespace fusesmith {

namespace {

constexpr size_t kDetailed = 3;  // causes whose swaps and spread are printed

std::string percent(double share) { return short_number(100 * share) + " %"; }

std::string of(const Difference& d) {
  return std::to_string(d.unequal) + " of " + std::to_string(d.elements);
}

std::string title(const Cause& cause) {
  const RegionVerdict& region = cause.verdict;
  return "region '" + region.name + "' (" +
         (region.patterns.empty() ? region.op : list_text(region.patterns)) + ")";
}

// "rounding 98 %, inner_value 0.04 %": the shares of all causes of a kind, the largest first.
std::string kinds_text(const std::vector<Cause>& causes) {
  std::vector<std::pair<double, std::string_view>> kinds;
  for (const Cause& cause : causes) {
    const auto known = std::find_if(kinds.begin(), kinds.end(),
                                    [&](const auto& kind) { return kind.second == name(cause.kind()); });
    if (known == kinds.end())
      kinds.emplace_back(cause.share, name(cause.kind()));
    else
      known->first += cause.share;
  }
  std::stable_sort(kinds.begin(), kinds.end(), [](auto& a, auto& b) { return a.first > b.first; });
  std::vector<std::string> words;
  for (const auto& [share, kind] : kinds) words.push_back(std::string(kind) + " " + percent(share));
  return list_text(words);
}

std::string causes_text(const Causes& causes, const CaseRun& run) {
  if (causes.causes.empty()) return "";
  const std::string& baseline = run.verdict.baseline.backend;
  Table table(
      {"region", "made by", "kind", "roundings", "injects", "error/bound", "in", "gain", "reaches", "share"});
  for (const Cause& cause : causes.causes) {
    const RegionVerdict& region = cause.verdict;
    std::vector<std::string> roundings;
    for (const Deviation& d : region.deviations) roundings.push_back(to_string(d));
    table.add({region.name, region.patterns.empty() ? region.op : list_text(region.patterns),
               std::string(name(cause.kind())), list_text(roundings), short_number(cause.injected.largest),
               short_number(region.worst_share), of(cause.injected), short_number(cause.gain),
               of(cause.outputs), percent(cause.share)});
  }
  return "\nCauses: each region of " + run.verdict.candidate.backend + " on the values of " + baseline +
         ", everything after it by " + baseline +
         ".\nShares of the difference at the outputs: " + kinds_text(causes.causes) +
         "; taken alone, their differences add up to " + percent(causes.together) + " of it.\n" +
         table.text(2);
}

std::string swaps_text(const Cause& cause, const CaseRun& run) {
  if (cause.swaps.empty()) return "";
  const std::string& baseline = run.verdict.baseline.backend;
  Table table(
      {"from " + baseline, "its own differ", "by up to", "the rest by", "outputs left unequal", "by up to"});
  for (const Swap& swap : cause.swaps) {
    table.add({list_text(swap.given), swap.inner ? of(*swap.inner) : "",
               swap.inner ? short_number(swap.inner->largest) : "", swap.rest, of(swap.outputs),
               short_number(swap.outputs.largest)});
  }
  return "\nSwaps inside " + title(cause) + ": inner values taken from " + baseline +
         ", its outputs against those of " + baseline + " (" + of(cause.injected) + " unequal by up to " +
         short_number(cause.injected.largest) + " without).\n" + table.text(2);
}

std::string spread_text(const Cause& cause, const CaseRun& run) {
  if (cause.spread.empty()) return "";
  Table table({"value", "op", "dtype", "unequal", "by up to", "relative", "grows", "beyond tolerance"});
  for (const SpreadStep& step : cause.spread) {
    table.add({step.value, step.op, std::string(name(step.dtype)), of(step.difference),
               short_number(step.difference.largest), short_number(step.relative), short_number(step.growth),
               std::to_string(step.difference.beyond)});
  }
  return "\nHow the difference of " + title(cause) + " is carried on by " + run.verdict.baseline.backend +
         ".\n" + table.text(2);
}

std::string patterns_text(const Explanation& explanation, const CaseRun& run) {
  if (explanation.patterns_off.empty()) return "";
  Table table({"turned off", "verdict", "outputs unequal", "by up to"});
  const Verdict& verdict = run.verdict;
  table.add({"nothing", std::string(name(verdict.verdict)), std::to_string(verdict.unequal),
             short_number(verdict.max_difference)});
  for (const PatternOff& off : explanation.patterns_off) {
    table.add({off.pattern, std::string(name(off.verdict)), std::to_string(off.unequal),
               short_number(off.max_difference)});
  }
  return "\nPatterns, one at a time.\n" + table.text(2);
}

}  // namespace

std::string to_text(const Explanation& explanation, const CaseRun& run) {
  const Causes& causes = explanation.causes;
  std::string text = causes_text(causes, run);
  for (size_t i = 0; i < std::min(kDetailed, causes.causes.size()); ++i)
    text += swaps_text(causes.causes[i], run) + spread_text(causes.causes[i], run);
  text += patterns_text(explanation, run);
  if (!causes.left_out.empty()) {
    text += "\nLeft out:\n";
    for (const std::string& line : causes.left_out) text += "  " + line + "\n";
  }
  return text;
}

}  // namespace fusesmith
