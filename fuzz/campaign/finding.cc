#include "fuzz/campaign/finding.h"

#include <nlohmann/json.hpp>

#include "fuzz/base/files.h"
#include "fuzz/base/table.h"
#include "fuzz/campaign/shrinking.h"
#include "fuzz/report/verdict_json.h"
#include "fuzz/report/verdict_text.h"

namespace fusesmith::fuzz {

namespace {

constexpr double kMinimizeSeconds = 120;
constexpr int kRepeats = 50;  // of a case that fails only sometimes

struct Report {
  std::string signature;
  Case test_case;  // the smallest that fails
  CaseRun run;     // of it
  std::string file;
  std::string how_small;  // what minimization did, or why it did nothing
  FailureRate rate = {};
};

std::string commands(const Report& report, const std::string& start, const FindingOptions& options) {
  const auto command = [&](const char* name, const std::string& file) {
    return options.program + " " + name + " " + shell_quoted(file) + options.flags + "\n";
  };
  const std::string again =
      report.rate.sometimes() ? "replay --repeat=" + std::to_string(kRepeats) : "replay";
  return "```sh\n" + command(again.c_str(), report.file) + command("explain", report.file) +
         command("minimize", start) + "```\n";
}

Table evidence_table(const Guilty& guilty) {
  const RegionVerdict& region = *guilty.region;
  const ElementEvidence& worst = region.worst;
  Table evidence({"evidence", ""});
  evidence.add({"backend", guilty.backend->backend});
  evidence.add({"region", region.name});
  evidence.add({"patterns", list_text(region.patterns, "none: " + region.op)});
  evidence.add({"symptom", region.symptom});
  evidence.add({"element", worst.value + "[" + std::to_string(worst.element) + "]"});
  if (is_disagreement(region)) {
    evidence.add({"first", number_text(worst.want)});
    evidence.add({"again", number_text(worst.got)});
    return evidence;
  }
  evidence.add({"got", number_text(worst.got)});
  evidence.add({"exact", number_text(worst.want)});
  evidence.add({"lawful", "[" + number_text(worst.lo) + ", " + number_text(worst.hi) + "]"});
  evidence.add({"bound before the store", number_text(worst.bound)});
  evidence.add(
      {"elements outside", std::to_string(region.outside) + " of " + std::to_string(region.elements)});
  return evidence;
}

std::string report_text(const Report& report, const std::string& start, const FindingOptions& options) {
  const Verdict& verdict = report.run.verdict;
  const Guilty guilty = guilty_region(verdict);
  std::string text =
      "# " + report.signature + "\n\n" + sentence(verdict) + "\n" + shown_step_text(verdict) + "\n";
  text += "Case: `" + report.file + "` (" + report.how_small + "). To see it again:\n\n" +
          commands(report, start, options) + "\n";
  if (guilty.region) text += evidence_table(guilty).markdown() + "\n";
  const auto differences = region_differences(report.run);
  for (const BackendVerdict* backend : {&verdict.candidate, &verdict.baseline}) {
    if (backend->regions.empty()) continue;
    const bool compared = backend == &verdict.candidate;
    const Table table =
        region_table(*backend, Regions::all,
                     compared ? std::span<const Difference>(differences) : std::span<const Difference>());
    text += "Regions of " + backend->backend + ":\n\n" + table.markdown() + "\n";
  }
  return text + "The graph:\n\n```\n" + to_string(report.test_case.graph) + "```\n";
}

std::optional<Problem> write_verdict(const std::filesystem::path& folder, const CaseRun& run) {
  const auto json = to_json(run.verdict, region_differences(run));
  return write_file(folder / "verdict.json",
                    json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace

std::optional<Problem> finish_finding(const std::filesystem::path& folder, const std::string& signature,
                                      const FindingOptions& options,
                                      const std::function<void(const std::string&, const Case&)>& others) {
  const auto file = (folder / "case.json").string();
  const auto start = read_case_file(file);
  if (!start) return Problem{start.problem()};
  Reproduction seen = reproduce(*start, signature, options.judging, kMostTrials, options.stop);
  if (auto problem = write_verdict(folder, seen.run)) return problem;

  Report report{signature, *start, {}, file, "not minimized", seen.rate};
  if (!seen.fails()) {
    report.how_small =
        "it did not fail in this way when it was judged again, " + counted(seen.rate.runs, "time");
  } else if (options.minimize) {
    MinimizeOptions minimize_options;
    minimize_options.max_seconds = kMinimizeSeconds;
    minimize_options.on_other = others;
    Shrunk shrunk = shrink(*start, seen, options.judging, minimize_options, options.stop);
    if (options.stop && options.stop()) return {};  // without report.md: a resumed campaign does it again
    const auto min = (folder / "min.json").string();
    if (auto problem = write_file(min, to_json(shrunk.result.test_case))) return problem;
    report.file = min;
    report.how_small = "minimized: " + shrink_text(shrunk);
    report.test_case = std::move(shrunk.result.test_case);
    seen = std::move(shrunk.seen);
    report.rate = seen.rate;
  }
  report.run = std::move(seen.run);
  return write_file(folder / "report.md", report_text(report, file, options));
}

std::optional<Problem> report_unrun(const std::filesystem::path& folder, const Verdict& verdict,
                                    const std::string& why, const FindingOptions& options) {
  const auto file = (folder / "case.json").string();
  const auto test_case = read_case_file(file);
  if (!test_case) return Problem{test_case.problem()};
  CaseRun run;
  run.verdict = verdict;
  if (!std::filesystem::exists(folder / "verdict.json")) {
    if (auto problem = write_verdict(folder, run)) return problem;
  }
  const Report report{verdict.signature, *test_case, std::move(run), file, "not minimized: " + why};
  return write_file(folder / "report.md", report_text(report, file, options));
}

}  // namespace fusesmith::fuzz
