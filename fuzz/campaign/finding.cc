#include "fuzz/campaign/finding.h"

#include <nlohmann/json.hpp>

#include "fuzz/base/files.h"
#include "fuzz/base/table.h"
#include "fuzz/campaign/shrinking.h"
#include "fuzz/report/neighbours_text.h"
#include "fuzz/report/verdict_json.h"
#include "fuzz/report/verdict_text.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kMinimizeSeconds = 120;
constexpr int kRepeats = 50;  // of a case that fails only sometimes

struct Report {
  std::string signature;
  Case test_case;     // the smallest that fails
  Reproduction seen;  // of it
  std::string file;
  std::string how_small;  // what minimization did, or why it did nothing
  std::optional<Neighbours> neighbours = {};
};

std::string commands(const Report& report, const std::string& start, const FindingOptions& options) {
  const auto command = [&](const char* name, const std::string& file) {
    return options.program + " " + name + " " + shell_quoted(file) + options.flags + "\n";
  };
  const std::string again =
      report.seen.rate.sometimes() ? "replay --repeat=" + std::to_string(kRepeats) : "replay";
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
  const Verdict& verdict = report.seen.run.verdict;
  const Guilty guilty = guilty_region(verdict);
  std::string text =
      "# " + report.signature + "\n\n" + sentence(verdict) + "\n" + shown_step_text(verdict) + "\n";
  text += "Case: `" + report.file + "` (" + report.how_small + "). To see it again:\n\n" +
          commands(report, start, options) + "\n";
  if (guilty.region) text += evidence_table(guilty).markdown() + "\n";
  if (report.neighbours)
    text += "Neighbours of the minimized case:\n\n" + neighbours_markdown(*report.neighbours) + "\n";
  const auto differences = region_differences(report.seen.run);
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

std::optional<Problem> write_report(const std::filesystem::path& folder, const Report& report,
                                    const FindingOptions& options) {
  const auto start = (folder / "case.json").string();
  return write_file(folder / "report.md", report_text(report, start, options));
}

std::optional<Problem> write_verdict(const std::filesystem::path& folder, const Json& verdict) {
  return write_file(folder / "verdict.json",
                    verdict.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

Json verdict_json(const CaseRun& run) { return to_json(run.verdict, region_differences(run)); }

// Judges the neighbours of the minimized case and writes both files again with them. Until then the report
// stands without them, so that nothing is lost where a neighbour makes the device fail.
std::optional<Problem> add_neighbours(const std::filesystem::path& folder, Report& report, Json verdict,
                                      const FindingOptions& options) {
  report.neighbours = neighbours_of(report.test_case, report.seen, options.judging, options.stop);
  if (options.stop && options.stop()) return {};
  verdict["neighbours"] = to_json(*report.neighbours);
  if (auto problem = write_verdict(folder, verdict)) return problem;
  return write_report(folder, report, options);
}

}  // namespace

std::optional<Problem> finish_finding(const std::filesystem::path& folder, const std::string& signature,
                                      const FindingOptions& options,
                                      const std::function<void(const std::string&, const Case&)>& others) {
  const auto file = (folder / "case.json").string();
  const auto start = read_case_file(file);
  if (!start) return Problem{start.problem()};
  const auto stopped = [&] { return options.stop && options.stop(); };
  Report report{signature, *start, reproduce(*start, signature, options.judging, kMostTrials, options.stop),
                file, "not minimized"};
  const Json verdict = verdict_json(report.seen.run);
  if (auto problem = write_verdict(folder, verdict)) return problem;
  if (!report.seen.fails()) {
    if (stopped()) return {};
    report.how_small =
        "it did not fail in this way when it was judged again, " + counted(report.seen.rate.runs, "time");
    return write_report(folder, report, options);
  }
  if (!options.minimize) return write_report(folder, report, options);

  MinimizeOptions minimize_options;
  minimize_options.max_seconds = kMinimizeSeconds;
  minimize_options.on_other = others;
  Shrunk shrunk = shrink(*start, report.seen, options.judging, minimize_options, options.stop);
  if (stopped()) return {};  // without report.md: a resumed campaign does it again
  report.file = (folder / "min.json").string();
  if (auto problem = write_file(report.file, to_json(shrunk.result.test_case))) return problem;
  report.how_small = "minimized: " + shrink_text(shrunk);
  report.test_case = std::move(shrunk.result.test_case);
  report.seen = std::move(shrunk.seen);
  if (auto problem = write_report(folder, report, options)) return problem;
  return report.seen.fails() ? add_neighbours(folder, report, verdict, options) : std::nullopt;
}

std::optional<Problem> report_unrun(const std::filesystem::path& folder, const Verdict& verdict,
                                    const std::string& why, const FindingOptions& options) {
  const auto file = (folder / "case.json").string();
  const auto test_case = read_case_file(file);
  if (!test_case) return Problem{test_case.problem()};
  Report report{verdict.signature, *test_case, {}, file, "not minimized: " + why};
  report.seen.run.verdict = verdict;
  if (!std::filesystem::exists(folder / "verdict.json")) {
    if (auto problem = write_verdict(folder, verdict_json(report.seen.run))) return problem;
  }
  return write_report(folder, report, options);
}

}  // namespace fusesmith::fuzz
