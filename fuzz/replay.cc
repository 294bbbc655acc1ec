#include "fuzz/replay.h"

#include <nlohmann/json.hpp>
#include <ostream>

#include "fuzz/files.h"
#include "fuzz/table.h"
#include "fuzz/verdict_json.h"
#include "fuzz/verdict_text.h"

namespace fusesmith {

namespace {

using Json = nlohmann::ordered_json;

struct Replayed {
  std::string file;
  Judging judging;
  CaseRun run;
  std::vector<std::string> reasons = {};  // why this is exit 77, one line each
  bool expected = false;                  // the expectation was compared and holds
};

Replayed replay(const ReplayFlags& flags, const std::string& file, const Case& test_case) {
  Judging judging(flags.judge, test_case);
  CaseRun run = judging.run(test_case);
  repeat_run(test_case.graph, run, flags.repeat);
  Replayed replayed{file, std::move(judging), std::move(run)};
  const Verdict& verdict = replayed.run.verdict;
  if (replayed.judging.missing().empty() && is_about(test_case, verdict)) {
    const auto broken = broken_expectation(test_case, verdict);
    if (broken) replayed.reasons.push_back(*broken);
    replayed.expected = !broken;
  }
  if (verdict.finding && !replayed.expected) replayed.reasons.push_back("finding " + verdict.signature);
  if (flags.bitwise && verdict.unequal > 0) {
    replayed.reasons.push_back("bitwise: " + std::to_string(verdict.unequal) + " of " +
                               counted(verdict.output_elements, "output element") + " unequal");
  }
  return replayed;
}

std::string text_of(const Replayed& replayed, const ReplayFlags& flags) {
  const Verdict& verdict = replayed.run.verdict;
  std::string text =
      replayed.file + ": " + std::string(name(verdict.verdict)) + (replayed.expected ? ", as expected" : "") +
      (flags.repeat > 0 && replayed.run.candidate ? ", " + counted(flags.repeat, "repeat") : "") + "\n";
  text += "  " + sentence(verdict) + "\n";
  for (const std::string& reason : replayed.reasons) text += "  FAILED: " + reason + "\n";
  const auto differences = region_differences(replayed.run);
  const Table table = region_table(verdict.candidate, Regions::notable, differences);
  return text + (table.empty() ? "" : table.text(2)) + "\n";
}

Json json_of(const Replayed& replayed) {
  const Verdict& verdict = replayed.run.verdict;
  const auto differences = region_differences(replayed.run);
  Json json = {{"file", replayed.file}};
  const Json whole = to_json(verdict, differences);
  for (const char* key :
       {"verdict", "signature", "finding", "reason", "unequal", "output_elements", "max_difference"}) {
    json[key] = whole[key];
  }
  json["backends"] = {verdict.baseline.backend, verdict.candidate.backend};
  json["failed"] = replayed.reasons;
  json["regions"] = whole["candidate"]["regions"];
  json["baseline_regions"] = whole["baseline"]["regions"];
  return json;
}

}  // namespace

FlagTable ReplayFlags::table() {
  FlagTable table;
  table.command = "replay";
  table.doc = "judge case files again.";
  table.details =
      "Prints for each case the verdict, what happened in one sentence, and the regions of the candidate "
      "that were rewritten "
      "or are worst: worst and median error as shares of what floating point allows there, and the "
      "difference to the "
      "baseline. Folders stand for every *.json in them.\n"
      "\n"
      "Exit codes: 0 clean; 77 a finding that the file does not expect, an expectation (`expect`) that does "
      "not come true, or "
      "with --bitwise an unequal output; else 1 when a file cannot be read (the others are still replayed).";
  table.positional = {"CASE.json|DIR...", &files, 1};
  judge.add_to(table.flags, false);
  table.flags.push_back({.name = "repeat",
                         .target = &repeat,
                         .value = "N",
                         .doc = "Run each case N more times; other bits on the same inputs are a finding.",
                         .hi = 1e6});
  table.flags.push_back(
      {.name = "bitwise",
       .target = &bitwise,
       .doc = "Demand equal bits: every output element that differs between the backends fails the case."});
  table.flags.push_back({.name = "json",
                         .target = &json,
                         .doc = "Print {\"cases\": [...]} on standard output, nothing else there."});
  table.examples = {
      {"replay corpus/scenarios", "Judge every case of a folder, as CI does."},
      {"replay fusesmith-work/findings/*/min.json", "What a campaign found, once more."},
      {"replay --repeat=100 --bitwise case.json", "The same bits every time, and on both backends?"},
  };
  return table;
}

int run(ReplayFlags& flags, Console& console) {
  bool unreadable = false, failed = false;
  Json cases = Json::array();
  const auto cannot_read = [&](const std::string& problem) {
    unreadable = true;
    fail(console, "replay", problem);
  };
  for (const std::string& argument : flags.files) {
    const auto files = list_json(argument);
    if (!files) {
      cannot_read(files.problem());
      continue;
    }
    if (files->empty()) cannot_read(argument + ": no *.json in this folder");
    for (const std::string& file : *files) {
      const auto test_case = read_case_file(file);
      if (!test_case) {
        cannot_read(test_case.problem());
        continue;
      }
      const Replayed replayed = replay(flags, file, *test_case);
      failed = failed || !replayed.reasons.empty();
      if (flags.json)
        cases.push_back(json_of(replayed));
      else
        console.out << text_of(replayed, flags) << std::flush;
    }
  }
  if (flags.json)
    console.out << Json{{"cases", std::move(cases)}}.dump(2, ' ', false, Json::error_handler_t::replace)
                << "\n";
  return failed ? kFindings : unreadable ? kUsage : kClean;
}

}  // namespace fusesmith
