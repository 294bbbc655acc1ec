#include "fuzz/findings/finding.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "backends/remote/worker_names.h"
#include "fuzz/base/clock.h"
#include "fuzz/base/table.h"
#include "fuzz/findings/ablations.h"
#include "fuzz/findings/finding_record.h"
#include "fuzz/findings/snippet_of.h"
#include "fuzz/report/finding_json.h"
#include "fuzz/report/finding_markdown.h"
#include "fuzz/run/case_files.h"
#include "graph/json_strict.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kMinimizeSeconds = 120;
constexpr double kMinimizeShare =
    0.6;  // of the time that there is; the rest is for what is tried with the result

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<Problem> write_verdict(const WorkPath& folder, const FindingReport& report) {
  return write_file(folder / "verdict.json", text_of(finding_json(report)));
}

std::optional<Problem> write_report(const WorkPath& folder, const FindingReport& report) {
  return write_file(folder / "report.md", report_markdown(report));
}

// The whole report comes last: a folder without it is not finished.
std::optional<Problem> write_both(const WorkPath& folder, const FindingReport& report) {
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

// The issue of the libraries that the failure belongs to, as known.json of the workers has it.
std::string known_issue(const JudgedCase& judged) {
  const Verdict& verdict = judged.seen.run.verdict;
  if (!verdict.signature || !worker_kind(verdict.signature->backend)) return "";
  const KnownIssue* issue =
      shipped_known_issues().find(*verdict.signature, CaseTraits::of(judged.test_case.graph), verdict.reason);
  if (!issue) return "";
  return issue->text() + (issue->filed.empty() || issue->why.empty() ? "" : ". " + issue->why);
}

std::vector<std::string> left_out_optimizers(const std::vector<Ablation>& ablations) {
  for (const Ablation& one : ablations) {
    if (!one.left_out.empty()) return one.left_out;
  }
  return {};
}

// What is said of its smallest case, when that is known.
void add_notes(FindingReport& report) {
  const JudgedCase& smallest = report.smallest();
  const Verdict& verdict = smallest.seen.run.verdict;
  report.known_issue = known_issue(smallest);
  if (!verdict.signature) return;
  const std::string& other = verdict.signature->backend == verdict.candidate.backend
                                 ? verdict.baseline.backend
                                 : verdict.candidate.backend;
  const auto left_out = left_out_optimizers(report.ablations);
  report.snippet = snippet_of(smallest.test_case, smallest.seen.run, verdict.signature->backend,
                              report.environment, left_out);
  if (report.snippet.empty())
    report.snippet = snippet_of(smallest.test_case, smallest.seen.run, other, report.environment, left_out);
}

void add_ablations(FindingReport& report, const Judging& judging, const Stop& stop) {
  const JudgedCase& smallest = report.smallest();
  report.ablations = ablations_of(smallest.test_case, smallest.seen, judging, stop);
  if (!left_out_optimizers(report.ablations).empty()) add_notes(report);
}

}  // namespace

Judging without_issue_of(Judging judging, const std::string& signature) {
  judging.reported = signature;
  return judging;
}

std::string first_verdict_text(const Verdict& verdict) { return text_of(judged_json("case.json", verdict)); }

std::optional<VerdictClass> recorded_class(const WorkPath& folder) {
  const auto text = read_file(folder / "verdict.json");
  const Json json = text ? parse_record(*text) : Json();
  const auto found = json.is_object() ? json.find("verdict") : json.end();
  if (found == json.end() || !found->is_string()) return {};
  return parse_verdict(found->get<std::string>());
}

std::optional<Problem> finish_finding(const WorkPath& folder, const std::string& signature,
                                      const FindingOptions& options, const KeepOther& keep_other) {
  const std::string file = (folder / kCaseFile).string();
  const auto start = read_work_case(folder / kCaseFile);
  if (!start) return Problem{start.problem()};
  const auto stopped = [&] { return options.stop && options.stop(); };
  const auto begun = Clock::now();
  const auto left = [&] { return options.max_seconds - seconds_since(begun); };
  const Stop hurry = [&] { return stopped() || left() <= 0; };
  Reproduction seen = reproduce(*start, signature, options.judging, kMostTrials, hurry);
  FindingReport report = report_of(signature, {file, *start, std::move(seen)}, options);
  const Reproduction& found = report.found.seen;
  add_notes(report);
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
  if (options.minimize && left() <= 0 && !stopped())
    report.how_small += ", because the time of the campaign was over; run " + shell_quoted(report.program) +
                        " minimize " + shell_quoted(file) + report.flags;
  if (!options.minimize || left() <= 0) return stopped() ? std::nullopt : write_report(folder, report);

  MinimizeOptions minimize_options;
  minimize_options.max_seconds = std::min(kMinimizeSeconds, left() * kMinimizeShare);
  bool others_kept = true;
  const OnOther on_other = [&](const Verdict& verdict, const Case& other) {
    if (keep_other) others_kept = keep_other(verdict, other) && others_kept;
  };
  Shrunk shrunk = shrink(*start, found, options.judging, minimize_options, options.stop, on_other);
  if (stopped()) return {};  // without the whole report: a resumed campaign does it again
  // It is then minimized again, and meets them again, even if this process ends before they are written.
  if (!others_kept) return Problem{kOtherNotKept};
  const WorkPath min = folder / "min.json";
  if (auto problem = write_data_files(min.string(), shrunk.result.test_case)) return problem;
  if (auto problem = write_file(min, to_json(shrunk.result.test_case))) return problem;
  report.how_small = "minimized: " + shrink_text(shrunk);
  report.minimized = {min.string(), std::move(shrunk.result.test_case), std::move(shrunk.seen)};
  add_notes(report);
  if (auto problem = write_both(folder, report)) return problem;

  // Both files stand without the neighbours until these are judged, so that nothing is lost where one of them
  // makes the device fail.
  const JudgedCase& smallest = *report.minimized;
  if (!smallest.seen.fails()) return {};
  add_ablations(report, options.judging, hurry);
  NeighbourOptions neighbour_options;
  neighbour_options.max_seconds = std::clamp(left(), 0.0, neighbour_options.max_seconds);
  if (!hurry())
    report.neighbours =
        neighbours_of(smallest.test_case, smallest.seen, options.judging, options.stop, neighbour_options);
  if (stopped()) return {};
  return write_both(folder, report);
}

std::string issue_text(const std::string& file, const Case& test_case, const std::string& signature,
                       const FindingOptions& options) {
  const auto begun = Clock::now();
  const Stop hurry = [&] {
    return (options.stop && options.stop()) || seconds_since(begun) > options.max_seconds;
  };
  Reproduction seen =
      reproduce(test_case, signature, options.judging, signature.empty() ? 1 : kMostTrials, options.stop);
  if (!seen.fails()) return "";
  const std::string failing = seen.run.verdict.signature_text();
  if (signature.empty())  // how often it fails in this way is not known yet
    seen = reproduce(test_case, failing, without_issue_of(options.judging, failing), kMostTrials, hurry);
  if (!seen.fails()) return "";
  FindingReport report = report_of(failing, {file, test_case, std::move(seen)}, options);
  report.how_small = "as it was given";
  add_notes(report);
  add_ablations(report, options.judging, hurry);
  return report_markdown(report);
}

std::optional<Problem> report_unrun(const WorkPath& folder, const std::string& signature,
                                    const Verdict& verdict, const std::string& why,
                                    const FindingOptions& options) {
  const std::string file = (folder / kCaseFile).string();
  const auto test_case = read_work_case(folder / kCaseFile);
  if (!test_case) return Problem{test_case.problem()};
  if (!is_there(folder / "verdict.json")) {
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
