#include "fuzz/campaign/damaged_files.h"

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "fuzz/base/files.h"
#include "fuzz/report/finding_markdown.h"
#include "graph/case.h"

namespace fusesmith::fuzz {

namespace fs = std::filesystem;

std::optional<Problem> DamagedFiles::set_aside(const fs::path& file, const std::string& why,
                                               const std::string& then) {
  constexpr int kMost = 1000;
  fs::path aside = file.string() + ".damaged";
  std::error_code error;
  for (int i = 2; fs::exists(aside, error) && i < kMost; ++i)
    aside = file.string() + ".damaged-" + std::to_string(i);
  fs::rename(file, aside, error);
  if (error)
    return Problem{file.string() + ": damaged, and cannot be renamed: " + error.message() + "; " + why};
  notes_.push_back(why + ": damaged, now " + aside.string() + "; " + then);
  return {};
}

Result<bool> DamagedFiles::check_finding(const fs::path& folder) {
  const fs::path start = folder / "case.json", min = folder / "min.json", verdict = folder / "verdict.json",
                 report = folder / "report.md";
  const bool has_min = fs::exists(min);
  const auto smallest = has_min ? read_case_file(min.string()) : Result<Case>(Problem{""});
  if (const auto first = read_case_file(start.string()); !first) {
    const std::string then = smallest ? "min.json takes its place" : "its next case takes its place";
    if (auto problem = set_aside(start, first.problem(), then)) return *problem;
    if (!smallest) return false;
    if (auto problem = write_file(start, to_json(*smallest))) return *problem;
  }
  const auto report_text = read_file(report), verdict_text = read_file(verdict);
  const bool report_whole = report_text && report_text->ends_with(kReportEnd);
  const bool verdict_whole = verdict_text && nlohmann::json::parse(*verdict_text, nullptr, false).is_object();
  const bool min_whole =
      has_min ? smallest.ok() : !report_text || report_text->find("/min.json`") == std::string::npos;
  if (report_whole && verdict_whole && min_whole) return true;
  constexpr const char* kAgain = "it is made again";
  if (has_min && !min_whole) {
    if (auto problem = set_aside(min, smallest.problem(), kAgain)) return *problem;
  }
  if (fs::exists(verdict) && !verdict_whole) {
    if (auto problem = set_aside(verdict, verdict.string(), kAgain)) return *problem;
  }
  if (fs::exists(report) && !report_whole) {
    if (auto problem = set_aside(report, report.string(), kAgain)) return *problem;
  }
  std::error_code ignored;
  fs::remove(report, ignored);
  return true;
}

Result<std::vector<std::string>> DamagedFiles::check_corpus(const fs::path& folder) {
  const auto files = entries_of(folder);
  if (!files) return Problem{files.problem()};
  std::vector<std::string> damaged;
  for (const fs::path& file : *files) {
    if (file.extension() != ".json" || file.filename().string().starts_with('.')) continue;
    const auto test_case = read_case_file(file.string());
    if (test_case) continue;
    if (auto problem = set_aside(file, test_case.problem(), "the case is made again")) return *problem;
    damaged.push_back(file.stem().string());
  }
  return damaged;
}

}  // namespace fusesmith::fuzz
