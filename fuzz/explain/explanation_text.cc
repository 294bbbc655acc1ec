// An explanation as tables.
#include <algorithm>

#include "fuzz/base/table.h"
#include "fuzz/explain/explanation.h"
#include "fuzz/explain/proofs_text.h"

namespace fusesmith::fuzz {

namespace {

constexpr size_t kDetailed = 3;  // causes whose swaps and spread are printed

std::string of(const Difference& d) {
  return std::to_string(d.unequal) + " of " + std::to_string(d.elements);
}

// An empty cell: not measured.
std::string cell(const std::optional<double>& x) { return x ? short_number(*x) : ""; }

std::string deviations_text(const std::vector<Deviation>& deviations) {
  std::vector<std::string> words;
  for (const Deviation& d : deviations) words.push_back(to_string(d));
  return list_text(words);
}

std::string kind_text(const Cause& cause) { return cause.kind() ? std::string(name(*cause.kind())) : ""; }

std::string title(const Cause& cause) {
  const RegionVerdict& region = cause.verdict;
  return "region '" + region.name + "' (" +
         (region.patterns.empty() ? region.op : list_text(region.patterns)) + ")";
}

// "rounding 98 %, inner_value 0.06 %": the shares of all causes of a kind, the largest first.
std::string kinds_text(const std::vector<Cause>& causes) {
  std::vector<std::pair<double, std::string>> kinds;
  for (const Cause& cause : causes) {
    if (!cause.share) continue;
    const std::string kind = cause.kind() ? kind_text(cause) : "other bits";
    const auto known =
        std::find_if(kinds.begin(), kinds.end(), [&](const auto& other) { return other.second == kind; });
    if (known == kinds.end())
      kinds.emplace_back(*cause.share, kind);
    else
      known->first += *cause.share;
  }
  std::stable_sort(kinds.begin(), kinds.end(), [](auto& a, auto& b) { return a.first > b.first; });
  std::vector<std::string> words;
  for (const auto& [share, kind] : kinds) words.push_back(kind + " " + percent(share));
  return list_text(words, "none was measured");
}

// What the table of causes shows, and what it lacks.
std::string causes_heading(const Causes& causes, const CaseRun& run) {
  const std::string &candidate = run.verdict.candidate.backend, &baseline = run.verdict.baseline.backend;
  std::vector<std::string> own;
  for (const Cause& cause : causes.causes) {
    if (!cause.judged) own.push_back("'" + cause.verdict.name + "'");
  }
  std::string text = wrapped("Causes. Each region of " + candidate + " ran on the values of " + baseline +
                             "; " + baseline + " computed everything after it.") +
                     "\n";
  std::string shares = "Shares of the difference at the outputs: " + kinds_text(causes.causes);
  if (causes.together)
    shares += "; the differences of the single causes add up to " + percent(*causes.together) + " of it.";
  else
    shares += "; not every region was measured, so that they may not add up to it. Empty: not measured.";
  text += wrapped(shares) + "\n";
  if (own.empty()) return text;
  return text +
         wrapped("These regions were not judged on the values of " + baseline +
                 "; their deviations and error/bound are those of the run: " + list_text(own) + ".") +
         "\n";
}

std::string causes_text(const Causes& causes, const CaseRun& run, size_t columns) {
  if (causes.causes.empty()) return "";
  Table table(
      {"region", "made by", "kind", "roundings", "injects", "error/bound", "in", "gain", "reaches", "share"});
  for (const Cause& cause : causes.causes) {
    const RegionVerdict& region = cause.verdict;
    table.add({region.name, region.patterns.empty() ? region.op : list_text(region.patterns),
               kind_text(cause), deviations_text(region.deviations), short_number(cause.injected.largest),
               short_number(region.worst_share), of(cause.injected), cell(cause.gain),
               cause.outputs ? of(*cause.outputs) : "", cause.share ? percent(*cause.share) : ""});
  }
  return "\n" + causes_heading(causes, run) + table.text(2, columns);
}

// "reassociation", and of a swap inside a kernel what the judge says of the other direction.
std::string verdict_text(const std::optional<RegionVerdict>& verdict) {
  return verdict ? std::string(name(verdict->verdict)) : "";
}

std::string swaps_text(const Cause& cause, const CaseRun& run, size_t columns) {
  if (cause.swaps.empty()) return "";
  const std::string& baseline = run.verdict.baseline.backend;
  const bool judged =
      std::any_of(cause.swaps.begin(), cause.swaps.end(), [](const Swap& swap) { return swap.verdict; });
  std::vector<std::string> headings = {"from " + baseline, "own values differ",    "by up to",
                                       "rest computed by", "outputs still differ", "by up to"};
  if (judged) headings.insert(headings.end(), {"verdict", baseline + " with these"});
  Table table(headings);
  for (const Swap& swap : cause.swaps) {
    // The first, the first two, ... of many values.
    const bool many = swap.given.size() > 2;
    std::vector<std::string> row = {many ? "all up to " + swap.given.back() : list_text(swap.given),
                                    swap.inner ? of(*swap.inner) : "",
                                    swap.inner ? short_number(swap.inner->largest) : "",
                                    swap.rest,
                                    of(swap.outputs),
                                    short_number(swap.outputs.largest)};
    if (judged) row.insert(row.end(), {verdict_text(swap.verdict), verdict_text(swap.converse_verdict)});
    table.add(row);
  }
  const std::string heading = "Swaps in " + title(cause) + ": it ran again with inner values taken from " +
                              baseline + ". Without that, " + of(cause.injected) +
                              " output elements differ from those of " + baseline + ", by up to " +
                              short_number(cause.injected.largest) + ".";
  return "\n" + wrapped(heading) + "\n" + table.text(2, columns);
}

std::string spread_text(const Cause& cause, const CaseRun& run, size_t columns) {
  if (cause.spread.empty()) return "";
  Table table({"value", "op", "dtype", "unequal", "by up to", "relative", "growth", "beyond tolerance"});
  for (const SpreadStep& step : cause.spread) {
    table.add({step.value, step.op, std::string(name(step.dtype)), of(step.difference),
               short_number(step.difference.largest), short_number(step.relative), short_number(step.growth),
               std::to_string(step.difference.beyond)});
  }
  return "\n" +
         wrapped("How the difference of " + title(cause) + " grows while " + run.verdict.baseline.backend +
                 " computes the values after it.") +
         "\n" + table.text(2, columns);
}

// The patterns that fire instead, each once.
std::string takers_text(const PatternOff& off) {
  std::vector<std::string> takers;
  for (const Instead& region : off.instead) {
    for (const std::string& pattern : region.patterns) {
      if (std::find(takers.begin(), takers.end(), pattern) == takers.end()) takers.push_back(pattern);
    }
  }
  return list_text(takers, off.instead.empty() ? "" : "node by node");
}

// Of each pattern turned off, the regions that other patterns form of its nodes.
std::string instead_text(const std::vector<PatternOff>& patterns_off, size_t columns) {
  Table table({"turned off", "region", "made by", "deviations"});
  for (const PatternOff& off : patterns_off) {
    for (const Instead& region : off.instead) {
      const bool deviates = region.deviations && !region.deviations->empty();
      if (region.patterns.empty() && !deviates) continue;
      table.add({off.pattern, region.region, list_text(region.patterns, region.op),
                 region.deviations ? deviations_text(*region.deviations) : "not judged"});
    }
  }
  return table.empty()
             ? ""
             : "\nRegions that compute the nodes of a pattern that is turned off.\n" + table.text(2, columns);
}

std::string patterns_text(const Explanation& explanation, const CaseRun& run, size_t columns) {
  if (explanation.patterns_off.empty()) return "";
  Table table({"turned off", "verdict", "outputs unequal", "by up to", "instead"});
  const Verdict& verdict = run.verdict;
  table.add({"nothing", std::string(name(verdict.verdict)), std::to_string(verdict.unequal),
             short_number(verdict.max_difference), ""});
  for (const PatternOff& off : explanation.patterns_off) {
    table.add({off.pattern, off.verdict ? std::string(name(*off.verdict)) : "not judged",
               std::to_string(off.unequal), short_number(off.max_difference), takers_text(off)});
  }
  return "\nPatterns, each turned off in a separate run.\n" + table.text(2, columns) +
         instead_text(explanation.patterns_off, columns);
}

}  // namespace

std::string to_text(const Explanation& explanation, const CaseRun& run, size_t columns) {
  const Causes& causes = explanation.causes;
  std::string text = causes_text(causes, run, columns);
  for (size_t i = 0; i < std::min(kDetailed, causes.causes.size()); ++i)
    text += swaps_text(causes.causes[i], run, columns) + spread_text(causes.causes[i], run, columns);
  text += proofs_table(explanation.orders, columns);
  text += patterns_text(explanation, run, columns);
  if (!causes.left_out.empty()) {
    text += "\nExperiments that were not made:\n";
    for (const std::string& line : causes.left_out) text += wrapped("  " + line, 4) + "\n";
  }
  return text;
}

}  // namespace fusesmith::fuzz
