// The `explain` command: for each case one sentence that says what happened, every region of both backends
// with all figures, and experiments that show the cause of the difference (explanation.h).
#include <chrono>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "fuzz/base/clock.h"
#include "fuzz/base/interrupt.h"
#include "fuzz/base/table.h"
#include "fuzz/cli/command.h"
#include "fuzz/explain/explanation.h"
#include "fuzz/report/definitions.h"
#include "fuzz/report/verdict_json.h"
#include "fuzz/report/verdict_text.h"
#include "fuzz/run/backends.h"
#include "fuzz/run/case_files.h"
#include "fuzz/run/judging.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

struct ExplainFlags {
  JudgeFlags judge;
  bool json = false;
  bool wide = false;
  double max_seconds = 60;
  std::vector<std::string> files;

  FlagTable table();
};

struct Explained {
  std::string file;
  CaseRun run;
  Explanation explanation = {};
  std::vector<DefinitionDifference> definitions = {};
};

std::string regions_text(const BackendVerdict& backend, std::span<const Difference> differences,
                         size_t columns) {
  if (backend.regions.empty()) return "";
  return "\nRegions of " + backend.backend + ", in the order in which they run:\n" +
         region_table(backend, Regions::all, differences).text(2, columns);
}

std::string reasons_text(const BackendVerdict& backend) {
  std::string text;
  for (const RegionVerdict& region : backend.regions) {
    for (const Deviation& deviation : region.deviations) {
      text += wrapped("  " + region.name + ": " + to_string(deviation) + " (" +
                          std::string(name(deviation.dtype)) + ")" +
                          (deviation.why.empty() ? "" : ": " + deviation.why),
                      4) +
              "\n";
    }
  }
  return text.empty() ? "" : "\nDeviations of " + backend.backend + ":\n" + text;
}

std::string text_of(const Case& test_case, const Explained& explained, size_t columns) {
  const auto& [file, run, explanation, definitions] = explained;
  const Verdict& verdict = run.verdict;
  std::string text = file + ": " + std::string(name(verdict.verdict)) +
                     (verdict.finding ? ", finding " + verdict.signature_text() : "") + known_text(verdict) +
                     "\n" + wrapped(sentence(verdict)) + "\n";
  text += shown_step_text(verdict);
  // Most sentences contain it.
  if (const std::string evidence = evidence_text(verdict);
      verdict.failing_region && sentence(verdict).find(evidence) == std::string::npos)
    text += wrapped("Evidence: " + evidence + ".") + "\n";
  if (const std::string other = other_failure_text(verdict); !other.empty())
    text += wrapped(verdict.failing_region->role == BackendRole::candidate ? "The baseline " + other
                                                                           : "The candidate " + other) +
            "\n";
  if (run.candidate) text += wrapped("What happened: " + explanation.what_happened) + "\n";
  if (const RegionVerdict* failing = verdict.failing(); failing && is_disagreement(*failing))
    text +=
        wrapped("What follows explains the difference between " + verdict.baseline.backend + " and " +
                verdict.candidate.backend + " on the inputs of the case, not the finding, which is about " +
                verdict.signature->backend + " alone.") +
        "\n";
  text += stand_in_text(test_case, definitions);
  text += regions_text(verdict.candidate, region_differences(run), columns) + reasons_text(verdict.candidate);
  text += regions_text(verdict.baseline, {}, columns) + reasons_text(verdict.baseline);
  text += to_text(explanation, run, columns);
  return text +
         "\n"
         "worst/bound, median/bound: the largest and the median error of the region on the inputs that it\n"
         "received, divided by the bound (empty: an error where the bound is 0). exact: elements with "
         "exactly\n"
         "one correct bit pattern. unequal: elements whose bits differ from those of the other backend.\n"
         "injects: the largest difference that the region itself makes; in: in how many elements. gain: rms "
         "of\n"
         "the difference at the graph outputs / rms injected. reaches: output elements that then differ. "
         "share:\n"
         "part of the total difference at the outputs. relative: rms of the difference / rms of the value.\n"
         "growth: relative / the largest relative of the inputs. beyond tolerance: elements that\n"
         "torch.testing.assert_close would report.\n";
}

Json json_of(const Explained& explained) {
  const Verdict& verdict = explained.run.verdict;
  Json json = {{"file", explained.file}, {"step", verdict.step}, {"sentence", sentence(verdict)}};
  json.update(to_json(verdict, region_differences(explained.run)));
  json.update(to_json(explained.explanation));
  if (!explained.definitions.empty()) json["definitions"] = to_json(explained.definitions);
  return json;
}

FlagTable ExplainFlags::table() {
  FlagTable table;
  table.command = "explain";
  table.doc = "measure which region, rounding or inner value causes a difference.";
  table.details =
      "Judges the case and then runs experiments: each region of the candidate on the baseline's values "
      "(the difference that the region itself makes); the baseline on the results of that region (the "
      "gain, the share of the difference at the outputs, and the values at which it grows); the region "
      "with inner values of the baseline (swaps); and the case with each pattern turned off. `-` is a case "
      "on standard input. docs/explain.md has an example.\n"
      "\n"
      "Exit codes: 0 no finding, 1 a file cannot be read (the other files are still explained), 71 out "
      "of memory, 72 interrupted, 75 the machine was too busy for a worker to answer, 76 the GPU is missing "
      "or failed, 77 a finding.";
  table.positional = {"CASE.json|-...", &files, 1};
  judge.add_to(table.flags);
  table.flags.push_back({.name = "max_seconds",
                         .target = &max_seconds,
                         .value = "TIME",
                         .doc = "Start no experiment on a case after this time, in seconds or as 90s, 5m or "
                                "2h; the report lists the experiments that were not made.",
                         .unit = Flag::Unit::seconds,
                         .hi = 1e6});
  table.flags.push_back(wide_flag(wide));
  table.flags.push_back({.name = "json",
                         .target = &json,
                         .doc = "Print one JSON object on standard output and nothing else there; for "
                                "several files {\"cases\": [...]}."});
  table.examples = {
      {"explain fusesmith-work/findings/*/min.json", "Explain every finding of a campaign."},
      {"explain corpus/scenarios/einsum_projections.json",
       "Show which regions were rewritten, and their errors relative to the bounds."},
      {"explain corpus/scenarios/layer_norm_linear_bf16.json",
       "Show which inner values differ, and which op amplifies the difference."},
      {"explain --skip_patterns=sdpa case.json", "Test whether the attention rewrite is the cause."},
  };
  return table;
}

Explained explain_case(const ExplainFlags& flags, const std::string& file, const Case& test_case,
                       const Judging& judging) {
  Explained explained{file, {}};
  Budget budget{.max_seconds = flags.max_seconds};
  const auto begun = std::chrono::steady_clock::now();
  explained.run = judging.run(test_case, [&](CaseRun& judged) {
    budget.judging_seconds = seconds_since(begun);
    explained.definitions =
        definition_differences(test_case, judged, *find_backend(judging.candidate), judging.options);
  });
  explained.explanation = explain(test_case, explained.run, judging, budget);
  return explained;
}

int code_of(const Verdict& verdict) {
  if (is_shortage(verdict.verdict)) return code_of_shortage(verdict.verdict);
  return verdict.finding ? kFindings : kClean;
}

// Exit code: that of the most severe case. A file that cannot be read does not stop the others, a device that
// failed does.
int run(ExplainFlags& flags, Console& console) {
  if (const auto why = flags.judge.cannot_run()) return fail(console, "explain", why->why, why->code);
  if (const auto problem = flags.judge.read_known()) return fail(console, "explain", problem->what);
  const size_t columns = flags.wide ? kAllColumns : kColumns;
  std::string_view separator;
  int code = kClean;
  Json cases = Json::array();
  for (const std::string& file : flags.files) {
    const auto test_case = read_case_argument(file);
    if (!test_case) {
      code = more_severe(code, fail(console, "explain", test_case.problem()));
      continue;
    }
    const auto judging = Judging::of_case(flags.judge, file, *test_case);
    if (!judging) {
      code = more_severe(code, fail(console, "explain", judging.problem()));
      continue;
    }
    try {
      const Explained explained = explain_case(flags, file, *test_case, *judging);
      code = more_severe(code, code_of(explained.run.verdict));
      if (flags.json) {
        cases.push_back(json_of(explained));
      } else {
        console.out << separator << text_of(*test_case, explained, columns) << std::flush;
        separator = "\n";
      }
    } catch (const DeviceError& error) {
      code = more_severe(code, fail_device(console, "explain", file, error));
      break;
    }
  }
  if (flags.json) print_cases(cases, flags.files.size(), console);
  return code;
}

}  // namespace

Command explain_command() { return command_of<ExplainFlags>(); }

}  // namespace fusesmith::fuzz
