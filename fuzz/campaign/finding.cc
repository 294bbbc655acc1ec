#include "fuzz/campaign/finding.h"

#include <nlohmann/json.hpp>

#include "fuzz/base/files.h"
#include "fuzz/base/table.h"
#include "fuzz/report/neighbours_text.h"
#include "fuzz/report/verdict_json.h"
#include "fuzz/report/verdict_text.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kMinimizeSeconds = 120;
constexpr int kRepeats = 50;  // of a case that fails only sometimes

// A case of the finding, and how it fails.
struct Judged {
  std::string file;
  Case test_case;
  Reproduction seen;
};

struct Report {
  std::string signature;
  Judged found;
  std::string how_small;  // what minimization did, or why it did nothing
  std::optional<Judged> minimized = {};
  std::optional<Neighbours> neighbours = {};  // of the minimized case

  const Judged& smallest() const { return minimized ? *minimized : found; }
};

std::string commands(const Report& report, const FindingOptions& options) {
  const auto command = [&](const char* name, const std::string& file) {
    return options.program + " " + name + " " + shell_quoted(file) + options.flags + "\n";
  };
  const Judged& smallest = report.smallest();
  const std::string again =
      smallest.seen.rate.sometimes() ? "replay --repeat=" + std::to_string(kRepeats) : "replay";
  return "```sh\n" + command(again.c_str(), smallest.file) + command("explain", smallest.file) +
         command("minimize", report.found.file) + "```\n";
}

Table evidence_table(const Verdict& verdict) {
  const RegionVerdict& region = *verdict.failing();
  const ElementEvidence& worst = region.worst;
  Table evidence({"evidence", ""});
  evidence.add({"backend", verdict.of(verdict.failing_region->role).backend});
  evidence.add({"region", region.name});
  evidence.add({"patterns", list_text(region.patterns, "none: " + region.op)});
  evidence.add({"symptom", std::string(name(region.symptom))});
  evidence.add({"element", worst.value + "[" + std::to_string(worst.element) + "]"});
  if (is_disagreement(region)) {
    evidence.add({"first", number_text(worst.want)});
    evidence.add({"again", number_text(worst.got)});
    return evidence;
  }
  evidence.add({"got", number_text(worst.got)});
  evidence.add({"exact", number_text(worst.want)});
  evidence.add({"allowed", "[" + number_text(worst.lo) + ", " + number_text(worst.hi) + "]"});
  evidence.add({"bound before the store", number_text(worst.bound)});
  if (worst.steps_outside > 0) evidence.add({"outside by", std::to_string(worst.steps_outside) + " ulp"});
  evidence.add(
      {"elements outside", std::to_string(region.outside) + " of " + std::to_string(region.elements)});
  return evidence;
}

std::string summary(const Judged& judged) {
  const Verdict& verdict = judged.seen.run.verdict;
  return sentence(verdict) + "\n" + shown_step_text(verdict) + "\n";
}

std::string regions_and_graph(const Judged& judged, Regions which) {
  const Verdict& verdict = judged.seen.run.verdict;
  const auto differences = region_differences(judged.seen.run);
  std::string text;
  for (const BackendVerdict* backend : {&verdict.candidate, &verdict.baseline}) {
    const bool compared = backend == &verdict.candidate;
    const Table table = region_table(
        *backend, which, compared ? std::span<const Difference>(differences) : std::span<const Difference>());
    if (!table.empty()) text += "Regions of " + backend->backend + ":\n\n" + table.markdown() + "\n";
  }
  return text + "The graph:\n\n```\n" + to_string(judged.test_case.graph) + "```\n";
}

std::string evidence_markdown(const Judged& judged) {
  const Verdict& verdict = judged.seen.run.verdict;
  return verdict.failing_region ? evidence_table(verdict).markdown() + "\n" : "";
}

// The minimized case, if there is one, then the case as the campaign found it.
std::string report_text(const Report& report, const FindingOptions& options) {
  const Judged& first = report.smallest();
  std::string text = "# " + report.signature + "\n\n" + summary(first) + "Case: `" + first.file + "` (" +
                     report.how_small + "). To see it again:\n\n" + commands(report, options) + "\n" +
                     evidence_markdown(first);
  if (report.neighbours)
    text += "Neighbours of the minimized case:\n\n" + neighbours_markdown(*report.neighbours) + "\n";
  text += regions_and_graph(first, Regions::all);
  if (!report.minimized) return text;
  return text + "\n## The case as found\n\n" + summary(report.found) + "Case: `" + report.found.file +
         "`, before minimization.\n\n" + evidence_markdown(report.found) +
         regions_and_graph(report.found, Regions::notable);
}

Json judged_json(const std::string& file, const Verdict& verdict,
                 std::span<const Difference> differences = {}) {
  Json json = {{"file", std::filesystem::path(file).filename().string()}};
  json.update(to_json(verdict, differences));
  return json;
}

Json judged_json(const Judged& judged) {
  return judged_json(judged.file, judged.seen.run.verdict, region_differences(judged.seen.run));
}

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// The keys are of the case as found; "minimized" has the same ones.
std::optional<Problem> write_verdict(const std::filesystem::path& folder, const Report& report) {
  Json json = judged_json(report.found);
  if (report.minimized) json["minimized"] = judged_json(*report.minimized);
  if (report.neighbours) json["neighbours"] = to_json(*report.neighbours);
  return write_file(folder / "verdict.json", text_of(json));
}

std::optional<Problem> write_report(const std::filesystem::path& folder, const Report& report,
                                    const FindingOptions& options) {
  return write_file(folder / "report.md", report_text(report, options));
}

// report.md comes last: a folder without it is not finished.
std::optional<Problem> write_both(const std::filesystem::path& folder, const Report& report,
                                  const FindingOptions& options) {
  if (auto problem = write_verdict(folder, report)) return problem;
  return write_report(folder, report, options);
}

}  // namespace

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
  Report report{signature, {file, *start, std::move(seen)}, "not minimized"};
  const Reproduction& found = report.found.seen;
  // What does not fail again keeps the evidence that the campaign wrote.
  if (found.fails() || !recorded_class(folder)) {
    if (auto problem = write_verdict(folder, report)) return problem;
  }
  if (!found.fails()) {
    if (stopped()) return {};
    report.how_small =
        "it did not fail in this way when it was judged again, " + counted(found.rate.runs, "time");
    return write_report(folder, report, options);
  }
  if (!options.minimize) return write_report(folder, report, options);

  MinimizeOptions minimize_options;
  minimize_options.max_seconds = kMinimizeSeconds;
  Shrunk shrunk = shrink(*start, found, options.judging, minimize_options, options.stop, on_other);
  if (stopped()) return {};  // without report.md: a resumed campaign does it again
  const auto min = (folder / "min.json").string();
  if (auto problem = write_file(min, to_json(shrunk.result.test_case))) return problem;
  report.how_small = "minimized: " + shrink_text(shrunk);
  report.minimized = {min, std::move(shrunk.result.test_case), std::move(shrunk.seen)};
  if (auto problem = write_both(folder, report, options)) return problem;

  // Both files stand without the neighbours until these are judged, so that nothing is lost where one of them
  // makes the device fail.
  const Judged& smallest = *report.minimized;
  if (!smallest.seen.fails()) return {};
  report.neighbours = neighbours_of(smallest.test_case, smallest.seen, options.judging, options.stop);
  if (stopped()) return {};
  return write_both(folder, report, options);
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
  Report report{signature, {file, *test_case, {}}, "not minimized: " + why};
  report.found.seen.run.verdict = verdict;
  return write_report(folder, report, options);
}

}  // namespace fusesmith::fuzz
