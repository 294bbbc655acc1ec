#include "fuzz/workdir/damaged_files.h"

#include <nlohmann/json.hpp>

#include "fuzz/report/finding_markdown.h"
#include "fuzz/run/case_files.h"
#include "fuzz/run/interrupted.h"
#include "graph/json_strict.h"

namespace fusesmith::fuzz {

std::optional<Problem> DamagedFiles::set_aside(const WorkPath& file, const std::string& why,
                                               const std::string& then) {
  constexpr int kMost = 1000;
  for (int i = 1; i < kMost; ++i) {
    const WorkPath aside =
        file.folder() / (file.name() + ".damaged" + (i == 1 ? "" : "-" + std::to_string(i)));
    bool taken = false;
    const auto problem = move_file(file, aside, &taken);
    if (taken) continue;
    if (problem) return Problem{problem->what + "; it is damaged: " + why};
    notes_.push_back(why + ": damaged, now " + aside.string() + "; " + then);
    return {};
  }
  return Problem{file.string() + ": damaged, like " + std::to_string(kMost) + " before it: " + why};
}

Result<bool> DamagedFiles::check_finding(const WorkPath& folder) {
  throw_if_interrupted();
  const WorkPath start = folder / "case.json", min = folder / "min.json", verdict = folder / "verdict.json",
                 report = folder / "report.md";
  const bool has_min = is_there(min);
  const auto smallest = has_min ? read_work_case(min) : Result<Case>(Problem{""});
  if (const auto first = read_work_case(start); !first) {
    const std::string then = smallest ? "min.json takes its place" : "its next case takes its place";
    if (auto problem = set_aside(start, first.problem(), then)) return *problem;
    if (!smallest) return false;
    if (auto problem = write_file(start, to_json(*smallest))) return *problem;
  }
  const auto report_text = read_file(report), verdict_text = read_file(verdict);
  const bool report_whole = report_text && report_text->ends_with(kReportEnd);
  const bool verdict_whole = verdict_text && parse_record(*verdict_text).is_object();
  const bool min_whole =
      has_min ? smallest.ok() : !report_text || report_text->find("/min.json`") == std::string::npos;
  if (report_whole && verdict_whole && min_whole) return true;
  constexpr const char* kAgain = "it is made again";
  if (has_min && !min_whole) {
    if (auto problem = set_aside(min, smallest.problem(), kAgain)) return *problem;
  }
  if (is_there(verdict) && !verdict_whole) {
    if (auto problem = set_aside(verdict, verdict_text ? verdict.string() : verdict_text.problem(), kAgain))
      return *problem;
  }
  if (is_there(report) && !report_whole) {
    if (auto problem = set_aside(report, report_text ? report.string() : report_text.problem(), kAgain))
      return *problem;
  }
  (void)remove_file(report);
  return true;
}

Result<std::vector<std::string>> DamagedFiles::check_corpus(const WorkPath& folder) {
  const auto names = names_in(folder);
  if (!names) return Problem{names.problem()};
  constexpr std::string_view kEnd = ".json";
  std::vector<std::string> damaged;
  for (const std::string& name : *names) {
    if (!name.ends_with(kEnd) || name.starts_with('.')) continue;
    throw_if_interrupted();
    const auto test_case = read_work_case(folder / name);
    if (test_case) continue;
    if (auto problem = set_aside(folder / name, test_case.problem(), "the case is made again"))
      return *problem;
    damaged.push_back(name.substr(0, name.size() - kEnd.size()));
  }
  return damaged;
}

}  // namespace fusesmith::fuzz
