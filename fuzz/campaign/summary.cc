#include "fuzz/campaign/summary.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "fuzz/base/color.h"
#include "fuzz/base/table.h"
#include "fuzz/counts/coverage_gaps.h"
#include "fuzz/findings/groups.h"
#include "fuzz/report/resolution_text.h"
#include "fuzz/run/known_names.h"

namespace fusesmith::fuzz {

namespace {

constexpr std::string_view kNoFindings = "No findings.",
                           kOfGroups = "; those of a group probably have one cause";

Table counts_table(const std::string& what, const std::string& counted_as, const Counts& counts) {
  Table table({what, counted_as});
  for (const auto& [key, count] : counts) table.add({key, std::to_string(count)});
  return table;
}

// "Metamorphic checks in 12 cases: 18 by exchange, 10 by scaling"
std::string metamorphic_text(const Stats& stats) {
  std::vector<std::string> checks;
  for (const auto& [check, count] : stats.metamorphic_checks)
    checks.push_back(std::to_string(count) + " by " + check);
  return "Metamorphic checks in " + counted(stats.metamorphic_cases, "case") + ": " + list_text(checks);
}

// "Resolution: in half of the cases, a change of 1.2e-05 % of the results of cpu, 0.46 % of the results of
// cpu_fused would have been found."
std::string resolution_text(const Stats& stats, const JudgeFlags& flags) {
  std::vector<std::string> parts;
  const std::pair<const std::string&, const Resolutions&> backends[] = {
      {flags.baseline, stats.baseline_resolutions}, {flags.candidate, stats.candidate_resolutions}};
  for (const auto& [backend, resolutions] : backends) {
    if (resolutions.cases() > 0)
      parts.push_back(percent_text(resolutions.median()) + " of the results of " + backend);
  }
  return parts.empty() ? ""
                       : wrapped("Resolution: in half of the cases, a change of " + list_text(parts) +
                                 " would have been found.") +
                             "\n\n";
}

// The issues of the file, most cases first; then those about these backends that no case met.
std::string known_text(const Stats& stats, const JudgeFlags& flags) {
  if (!flags.known_issues) return "";
  std::vector<std::pair<int64_t, const KnownIssue*>> met;
  std::vector<std::string> others;
  for (const KnownIssue& issue : flags.known_issues->all()) {
    const auto count = stats.known.find(issue.name);
    if (count != stats.known.end())
      met.emplace_back(-count->second, &issue);
    else if (issue.is_of(flags.baseline) || issue.is_of(flags.candidate))
      others.push_back(issue.name);
  }
  std::stable_sort(met.begin(), met.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Table table({"known issue", "cases", "filed, or why it is known"});
  for (const auto& [count, issue] : met)
    table.add({issue->name, std::to_string(-count), issue->filed.empty() ? issue->why : issue->filed});
  return (met.empty() ? "" : table.text() + "\n") +
         (others.empty() ? "" : wrapped("Known issues without a case: " + list_text(others)) + "\n\n");
}

// One row for each group, the one with most cases first.
std::string findings_text(const WorkDirectory& directory, const JudgeFlags& flags,
                          const std::string& program) {
  if (directory.finding_count() == 0) return std::string(kNoFindings) + "\n";
  const auto records = read_findings(directory.path());
  if (!records) return records.problem() + "\n";
  if (records->empty()) return "No finding can be read.\n";
  const Groups groups = groups_of(*records);
  Table table({"finding", "cases", "further", "smallest case"});
  bool uncounted = false;
  std::vector<std::string> not_minimized;
  for (const auto& members : groups) {
    const FindingRecord& face = (*records)[members[0]];
    int64_t cases = 0;
    for (const size_t member : members) {
      cases += (*records)[member].cases;
      uncounted = uncounted || (*records)[member].cases == 0;
      if ((*records)[member].file.name() == kCaseFile)
        not_minimized.push_back((*records)[member].file.string());
    }
    table.add(
        {face.signature, std::to_string(cases), std::to_string(members.size() - 1), face.file.string()});
  }
  const FindingRecord& first = (*records)[groups[0][0]];
  return counted(static_cast<int64_t>(groups.size()), "group") + " of " +
         counted(static_cast<int64_t>(records->size()), "finding") + std::string(kOfGroups) + ":\n\n" +
         table.text() +
         "\nfurther: findings of the group beside the one that is shown, which is the simplest.\n" +
         (uncounted
              ? "A finding with 0 cases was found while another one was minimized, or while the campaign "
                "was\nending.\n"
              : "") +
         (not_minimized.empty()
              ? ""
              : counted(static_cast<int64_t>(not_minimized.size()), "finding") +
                    " not minimized; report.md says why. To minimize one:\n  " + shell_quoted(program) +
                    " minimize " + shell_quoted(not_minimized[0]) + flags.beside_case().text() + "\n") +
         "\nEach folder has a report.md. Next:\n  " + shell_quoted(program) + " explain " +
         shell_quoted(first.file.string()) + flags.beside_case().text() + "\n  " + shell_quoted(program) +
         " report " + shell_quoted(directory.path().string()) + " --output=report.html\n";
}

}  // namespace

void print_summary(const std::string& text, std::ostream& out) {
  const bool clean = text.ends_with(std::string(kNoFindings) + "\n");
  const size_t end = clean ? text.size() - 1 : std::min(text.find(kOfGroups), text.size());
  const size_t begin = end == text.size() ? end : text.rfind('\n', end - 1) + 1;
  out << text.substr(0, begin) << (clean ? Color::green : Color::red) << text.substr(begin, end - begin)
      << Color::plain << text.substr(end) << std::flush;
}

std::string summary_text(const Stats& stats, const WorkDirectory& directory, const JudgeFlags& flags,
                         const std::string& program) {
  std::string text = counted(stats.cases, "case") + " in " + std::to_string(std::lround(stats.elapsed_s)) +
                     " s (" + std::to_string(std::lround(stats.graphs_per_second())) + "/s), " +
                     flags.baseline + " against " + flags.candidate + ", seed " + std::to_string(stats.seed) +
                     ", shard " + stats.shard + ", in " + directory.path().string() + "\n\n";
  Table verdicts({"verdict", "cases", "%"});
  for (size_t i = 0; i < stats.verdicts.size(); ++i) {
    if (stats.verdicts[i] == 0) continue;
    verdicts.add(
        {std::string(kVerdictNames[i]), std::to_string(stats.verdicts[i]),
         short_number(100.0 * static_cast<double>(stats.verdicts[i]) / static_cast<double>(stats.cases))});
  }
  if (!verdicts.empty()) text += verdicts.text() + "\n";
  if (stats.exact_cases > 0)
    text += counted(stats.exact_cases, "case") +
            " with exact data: every element of every region has exactly one correct bit pattern\n\n";
  text += resolution_text(stats, flags);
  if (!stats.arithmetic.empty())
    text += counts_table("customary arithmetic that no contract declares", "cases", stats.arithmetic).text() +
            "\n";
  if (stats.metamorphic_cases > 0) text += metamorphic_text(stats) + "\n\n";
  if (!stats.unsupported.empty())
    text += counts_table("unsupported, because", "cases", stats.unsupported).text() + "\n";
  const bool rewrites = rewrites_graphs(flags.candidate);
  if (rewrites) text += counts_table("pattern", "regions", stats.patterns).text() + "\n";
  if (const std::string gaps = gaps_text(coverage_gaps(stats.met, stats.cases, rewrites)); !gaps.empty())
    text += gaps + "All counts: " + shell_quoted(program) + " list coverage " +
            shell_quoted(directory.path().string()) + "\n\n";
  if (stats.invalid > 0)
    text += "Invalid graphs: " + std::to_string(stats.invalid) + " (a bug in the generator)\n\n";
  text += known_text(stats, flags);
  return text + findings_text(directory, flags, program);
}

}  // namespace fusesmith::fuzz
