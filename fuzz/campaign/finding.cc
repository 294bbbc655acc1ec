#include "fuzz/campaign/finding.h"

#include <nlohmann/json.hpp>

#include "fuzz/base/files.h"
#include "fuzz/base/table.h"
#include "fuzz/report/finding_json.h"
#include "fuzz/report/finding_markdown.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kMinimizeSeconds = 120;

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<Problem> write_verdict(const std::filesystem::path& folder, const FindingReport& report) {
  return write_file(folder / "verdict.json", text_of(finding_json(report)));
}

std::optional<Problem> write_report(const std::filesystem::path& folder, const FindingReport& report) {
  return write_file(folder / "report.md", report_markdown(report));
}

// report.md comes last: a folder without it is not finished.
std::optional<Problem> write_both(const std::filesystem::path& folder, const FindingReport& report) {
  if (auto problem = write_verdict(folder, report)) return problem;
  return write_report(folder, report);
}

FindingReport report_of(const std::string& signature, JudgedCase found, const FindingOptions& options) {
  FindingReport report{signature, std::move(found), "not minimized"};
  report.environment =
      options.environment
          ? *options.environment
          : environment_of({options.judging.baseline, options.judging.candidate}, options.commit);
  if (!options.why_not_minimized.empty()) report.how_small += ": " + options.why_not_minimized;
  report.flags = options.flags;
  report.program = options.program;
  return report;
}

}  // namespace

Judging without_issue_of(Judging judging, const std::string& signature) {
  judging.reported = signature;
  return judging;
}

std::string first_verdict_text(const Verdict& verdict) { return text_of(judged_json("case.json", verdict)); }

std::optional<VerdictClass> recorded_class(const std::filesystem::path& folder) {
  const auto text = read_file(folder / "verdict.json");
  const Json json = text ? Json::parse(*text, nullptr, false) : Json();
  const auto found = json.is_object() ? json.find("verdict") : json.end();
  if (found == json.end() || !found->is_string()) return {};
  return parse_verdict(found->get<std::string>());
}

std::optional<Problem> finish_finding(const std::filesystem::path& folder, const std::string& signature,
                                      const FindingOptions& options, const OnOther& on_other) {
  const auto file = (folder / "case.json").string();
  const auto start = read_case_file(file);
  if (!start) return Problem{start.problem()};
  const auto stopped = [&] { return options.stop && options.stop(); };
  Reproduction seen = reproduce(*start, signature, options.judging, kMostTrials, options.stop);
  FindingReport report = report_of(signature, {file, *start, std::move(seen)}, options);
  const Reproduction& found = report.found.seen;
  // What does not fail again keeps the evidence that the campaign wrote.
  if (found.fails() || !recorded_class(folder)) {
    if (auto problem = write_verdict(folder, report)) return problem;
  }
  if (!found.fails()) {
    if (stopped()) return {};
    report.how_small =
        "it did not fail in this way when it was judged again, " + counted(found.rate.runs, "time");
    return write_report(folder, report);
  }
  if (!options.minimize) return write_report(folder, report);

  MinimizeOptions minimize_options;
  minimize_options.max_seconds = kMinimizeSeconds;
  Shrunk shrunk = shrink(*start, found, options.judging, minimize_options, options.stop, on_other);
  if (stopped()) return {};  // without report.md: a resumed campaign does it again
  const auto min = (folder / "min.json").string();
  if (auto problem = write_file(min, to_json(shrunk.result.test_case))) return problem;
  report.how_small = "minimized: " + shrink_text(shrunk);
  report.minimized = {min, std::move(shrunk.result.test_case), std::move(shrunk.seen)};
  if (auto problem = write_both(folder, report)) return problem;

  // Both files stand without the neighbours until these are judged, so that nothing is lost where one of them
  // makes the device fail.
  const JudgedCase& smallest = *report.minimized;
  if (!smallest.seen.fails()) return {};
  report.ablations = ablations_of(smallest.test_case, smallest.seen, options.judging, options.stop);
  report.neighbours = neighbours_of(smallest.test_case, smallest.seen, options.judging, options.stop);
  if (stopped()) return {};
  return write_both(folder, report);
}

std::optional<Problem> report_unrun(const std::filesystem::path& folder, const std::string& signature,
                                    const Verdict& verdict, const std::string& why,
                                    const FindingOptions& options) {
  const auto file = (folder / "case.json").string();
  const auto test_case = read_case_file(file);
  if (!test_case) return Problem{test_case.problem()};
  if (!std::filesystem::exists(folder / "verdict.json")) {
    Json json = judged_json(file, verdict);
    json["signature"] = signature;
    if (auto problem = write_file(folder / "verdict.json", text_of(json))) return problem;
  }
  FindingReport report = report_of(signature, {file, *test_case, {}}, options);
  report.how_small += ": " + why;
  report.found.seen.run.verdict = verdict;
  return write_report(folder, report);
}

}  // namespace fusesmith::fuzz
