// The `replay` command: judges case files again, compares with what they expect, and on demand repeats them
// or asks for equal bits.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "fuzz/base/color.h"
#include "fuzz/base/interrupt.h"
#include "fuzz/base/table.h"
#include "fuzz/cli/command.h"
#include "fuzz/export/values_file.h"
#include "fuzz/order/judged_orders.h"
#include "fuzz/report/definitions.h"
#include "fuzz/report/granted_text.h"
#include "fuzz/report/verdict_json.h"
#include "fuzz/report/verdict_text.h"
#include "fuzz/run/backends.h"
#include "fuzz/run/case_files.h"
#include "fuzz/run/expectation.h"
#include "fuzz/run/judging.h"
#include "fuzz/run/metamorphic.h"
#include "fuzz/run/repeat.h"

namespace fusesmith::fuzz {

namespace {

struct ReplayFlags {
  JudgeFlags judge;
  int64_t repeat = 0;
  bool bitwise = false;
  bool json = false;
  bool wide = false;
  bool orders = false;
  std::string values;  // file; empty: none
  std::vector<std::string> files;

  FlagTable table();
};

using Json = nlohmann::ordered_json;

constexpr double kOrderSeconds = 60;  // for the orders of a case that are not known yet

struct Replayed {
  std::string file;
  CaseRun run;
  std::vector<DefinitionDifference> definitions = {};
  std::string stand_ins = {};               // as text
  std::vector<OrderProof> orders = {};      // of products, with --orders
  std::vector<std::string> asked_for = {};  // metamorphic checks
  int64_t repeats = 0;
  std::vector<std::string> reasons = {};  // why this is exit 77, one line each
  bool expected = false;                  // the expectation was compared and holds
  bool skipped = false;                   // there is one, but nothing to compare it with
  // Known issues by which it fails; and those whose case it is, by which it does not.
  std::vector<const KnownIssue*> known = {}, passing = {};
};

// Whether the regions of the case were judged, so that it is known by which issues it does not fail.
bool was_judged(const Verdict& verdict) { return !verdict.candidate.regions.empty(); }

void add_known(const JudgeFlags& flags, Replayed& replayed) {
  const Verdict& verdict = replayed.run.verdict;
  if (!flags.known_issues) return;
  for (const KnownFailure& failure : verdict.known)
    replayed.known.push_back(flags.known_issues->find(std::string_view(failure.issue)));
  if (!was_judged(verdict)) return;
  const std::string backends[] = {verdict.baseline.backend, verdict.candidate.backend};
  replayed.passing = flags.known_issues->of_case(replayed.file, backends);
  std::erase_if(replayed.passing, [&](const KnownIssue* issue) {
    return std::find(replayed.known.begin(), replayed.known.end(), issue) != replayed.known.end();
  });
}

Replayed replay(const ReplayFlags& flags, const std::string& file, const Case& test_case, Judging judging,
                ValuesFile* values, OrderCache& cache) {
  judging.options.stop = Signals::interrupted;
  if (values) {
    judging.options.on_step = [&](int64_t step, const Trace& baseline, const Trace& candidate) {
      values->add_step(test_case.graph, step, baseline, candidate);
    };
  }
  Replayed replayed{file, {}};
  replayed.run = judging.run(test_case, [&](CaseRun& judged) {
    replayed.repeats = repeat_run(test_case.graph, judged, flags.repeat, Signals::interrupted);
    replayed.definitions =
        definition_differences(test_case, judged, *find_backend(judging.candidate), judging.options);
    if (flags.orders) replayed.orders = judge_orders(test_case, judged, judging, cache, kOrderSeconds);
  });
  add_known(flags.judge, replayed);
  replayed.asked_for = test_case.policy.metamorphic;
  replayed.stand_ins = stand_in_text(test_case, replayed.definitions);
  const Verdict& verdict = replayed.run.verdict;
  // Where memory runs out says nothing about the case.
  const bool shortage =
      is_shortage(verdict.verdict) && test_case.expect && test_case.expect->verdict != name(verdict.verdict);
  if (judging.why_not.empty() && is_about(test_case, verdict) && !shortage) {
    const auto broken = broken_expectation(test_case, verdict);
    // A known issue excuses a case that should pass, but not one that should fail in another way.
    const bool only_known = !verdict.finding && !verdict.known.empty();
    if (broken && !(only_known && test_case.expect->signature.empty())) replayed.reasons.push_back(*broken);
    replayed.expected = !broken;
  } else {
    replayed.skipped = test_case.expect.has_value();
  }
  if (verdict.finding && !replayed.expected)
    replayed.reasons.push_back("finding " + verdict.signature_text());
  if (flags.bitwise && verdict.unequal > 0) {
    replayed.reasons.push_back("bitwise: " + std::to_string(verdict.unequal) + " of " +
                               outputs_text(verdict) + " unequal");
  }
  return replayed;
}

std::string indented(const std::string& text) {
  std::string result;
  for (size_t at = 0, end; at < text.size(); at = end) {
    end = text.find('\n', at) + 1;
    result += "  " + text.substr(at, end - at);
  }
  return result;
}

// "Metamorphic checks: isolation 1, subset 4; not made: exchange.", where the case asks for some.
std::string metamorphic_line(const std::map<std::string, int64_t>& made,
                             const std::vector<std::string>& asked_for) {
  if (asked_for.empty()) return "";
  std::vector<std::string> parts, missing;
  for (const auto& [check, count] : made) parts.push_back(check + " " + std::to_string(count));
  for (const std::string& entry : asked_for) {
    if (!made.contains(std::string(check_of(entry)))) missing.push_back(entry);
  }
  return "Metamorphic checks of the candidate: " + list_text(parts, "none") +
         (missing.empty() ? "" : "; not made: " + list_text(missing)) + ".\n";
}

std::string text_of(const Replayed& replayed, size_t columns) {
  const Verdict& verdict = replayed.run.verdict;
  std::string text = replayed.file + ": " + std::string(name(verdict.verdict)) +
                     (replayed.expected  ? ", as expected"
                      : replayed.skipped ? ", its expectation skipped"
                                         : "") +
                     known_text(verdict) +
                     (replayed.repeats > 0 ? ", " + counted(replayed.repeats, "repeat") : "") + "\n";
  text += "  " + sentence(verdict) + "\n";
  for (const std::string& reason : replayed.reasons) text += "  FAILED: " + reason + "\n";
  for (const KnownIssue* issue : replayed.known) text += "  KNOWN: " + issue->text() + "\n";
  for (const KnownIssue* issue : replayed.passing)
    text += "  NO LONGER FAILS by the known issue " + issue->text() + "\n";
  text += indented(granted_lines(replayed.run));
  text += indented(metamorphic_line(replayed.run.metamorphic, replayed.asked_for));
  text += indented(shown_step_text(verdict));
  text += indented(replayed.stand_ins);
  const auto differences = region_differences(replayed.run);
  const Table table = region_table(verdict.candidate, Regions::notable, differences);
  if (!table.empty()) text += table.text(2, columns);
  return text + judged_orders_text(replayed.orders, columns) + "\n";
}

Json json_of(const Replayed& replayed) {
  const Verdict& verdict = replayed.run.verdict;
  const auto differences = region_differences(replayed.run);
  Json json = {{"file", replayed.file}};
  const Json whole = to_json(verdict, differences);
  for (const char* key : {"verdict", "signature", "finding", "known", "failing_region", "reason", "step",
                          "steps", "unequal", "unequal_nonfinite", "output_elements", "max_difference",
                          "max_finite_difference", "deviations", "exposed"}) {
    json[key] = whole[key];
  }
  json["backends"] = {verdict.baseline.backend, verdict.candidate.backend};
  json["granted"] = granted(replayed.run);
  json["metamorphic"] = replayed.run.metamorphic;
  json["failed"] = replayed.reasons;
  Json passing = Json::array();
  for (const KnownIssue* issue : replayed.passing) passing.push_back(issue->name);
  json["no_longer_fails"] = std::move(passing);
  if (!replayed.definitions.empty()) json["definitions"] = to_json(replayed.definitions);
  json["regions"] = whole["candidate"]["regions"];
  json["baseline_regions"] = whole["baseline"]["regions"];
  if (!replayed.orders.empty()) json["orders"] = judged_orders_json(replayed.orders);
  return json;
}

// One call of the command: reads and judges what it is given until the device fails or a signal comes, if it
// does.
class Replay {
 public:
  Replay(const ReplayFlags& flags, Console& console) : flags_(flags), console_(console) {
    Signals::finish_first();
  }

  // What is wrong with the file of --values.
  std::optional<Problem> open_values() {
    if (flags_.values.empty()) return {};
    auto file = ValuesFile::open(flags_.values);
    if (!file) return Problem{file.problem()};
    values_.emplace(std::move(*file));
    return {};
  }

  void add(const std::string& argument) {
    if (argument == kStandardInput) return add_file(argument);
    const auto found = list_cases(argument);
    if (!found) return cannot_read(found.problem());
    const std::string others = found->others == 0 ? "" : "skipped " + counted(found->others, "other file");
    for (const std::string& problem : found->refused) cannot_read(problem);
    if (found->files.empty()) {
      cannot_read(argument + ": no case (*.json) in this folder" + (others.empty() ? "" : "; " + others));
    } else if (!others.empty()) {
      fail(console_, "replay", argument + ": " + others);
    }
    for (const std::string& file : found->files) add_file(file);
  }

  int finish() {
    if (flags_.json) {
      console_.out << Json{{"cases", std::move(cases_)}}.dump(2, ' ', false, Json::error_handler_t::replace)
                   << "\n";
    }
    if (!device_failed_ && Signals::interrupted())
      return fail(console_, "replay", "interrupted after " + counted(judged_, "case"), kInterrupted);
    return code_;
  }

 private:
  void add_file(const std::string& file) {
    if (device_failed_ || values_failed_ || Signals::interrupted()) return;
    const auto test_case = read_case_argument(file);
    if (Signals::interrupted()) return;
    if (!test_case) return cannot_read(test_case.problem());
    auto judging = Judging::of_case(flags_.judge, file, *test_case);
    if (!judging) return cannot_read(judging.problem());
    try {
      const Replayed replayed =
          replay(flags_, file, *test_case, std::move(*judging), values_ ? &*values_ : nullptr, cache_);
      take(replayed);
      if (values_) keep_values(*test_case, replayed);
    } catch (const DeviceError& error) {
      device_failed_ = true;
      code_ = more_severe(code_, fail_device(console_, "replay", file, error));
    } catch (const Interrupted&) {  // finish() says so
    }
  }

  void take(const Replayed& replayed) {
    ++judged_;
    const VerdictClass found = replayed.run.verdict.verdict;
    const bool timeout = found == VerdictClass::timeout;
    if (!replayed.reasons.empty()) code_ = more_severe(code_, timeout ? kTimeout : kFindings);
    if (is_shortage(found) && !replayed.expected) code_ = more_severe(code_, code_of_shortage(found));
    if (flags_.json)
      cases_.push_back(json_of(replayed));
    else
      print(replayed);
  }

  // The line with the verdict in the colour of what it means for the exit code.
  void print(const Replayed& replayed) {
    const std::string text = text_of(replayed, flags_.wide ? kAllColumns : kColumns);
    const size_t line = text.find('\n');
    console_.out << (replayed.reasons.empty() ? Color::green : Color::red) << text.substr(0, line)
                 << Color::plain << text.substr(line) << std::flush;
  }

  void keep_values(const Case& test_case, const Replayed& replayed) {
    const auto problem = values_->write(test_case, replayed.file, replayed.run.verdict);
    if (!problem) return;
    values_failed_ = true;
    code_ = more_severe(code_, fail(console_, "replay", problem->what, kCannotWrite));
  }

  void cannot_read(const std::string& problem) {
    code_ = more_severe(code_, fail(console_, "replay", problem));
  }

  const ReplayFlags& flags_;
  Console& console_;
  Json cases_ = Json::array();
  int64_t judged_ = 0;
  int code_ = kClean;
  bool device_failed_ = false, values_failed_ = false;
  std::optional<ValuesFile> values_;
  OrderCache cache_;
};

FlagTable ReplayFlags::table() {
  FlagTable table;
  table.command = "replay";
  table.doc = "judge case files again.";
  table.details =
      "Prints for each case the verdict, one sentence that says what happened, and a table of the "
      "candidate's regions that were rewritten or have the largest error: the worst and the median error "
      "as a share of the bound, and the difference to the baseline. `-` is a case on standard input. A "
      "folder stands for every case file (*.json) in it and below; in a work directory, a finding stands "
      "for its min.json.\n"
      "\n"
      "With --known, a failure that belongs to a known issue is printed as known, and is no finding. If the "
      "file of known issues names a case that no longer fails by its issue, a line says so.\n"
      "\n"
      "Exit codes: 0 no finding; 77 a finding that the file does not expect, an expectation (`expect`) "
      "that is not met, or, with --bitwise, an unequal output; else 70 a worker did not answer in time; else "
      "71 memory ran out; else 75 the machine was too busy for a worker to answer; else 1 a file "
      "cannot be read (the other files are still replayed). 72 interrupted: the current case is finished "
      "first, and is not reported if steps of it were still to come; a second signal ends at once. 73 "
      "the file of --values cannot be written, 76 the GPU is missing, or it failed (the remaining files are "
      "not "
      "replayed).";
  table.positional = {"CASE.json|DIR|-...", &files, 1};
  judge.add_to(table.flags);
  table.flags.push_back(
      {.name = "repeat",
       .target = &repeat,
       .value = "N",
       .doc = "Run each case N more times; different bits on the same inputs are a finding.",
       .hi = 1e6});
  table.flags.push_back({.name = "bitwise",
                         .target = &bitwise,
                         .doc = "Require equal bits: a case fails if any output element differs between the "
                                "backends."});
  table.flags.push_back({.name = "orders",
                         .target = &orders,
                         .doc = "Reveal the order in which each backend adds the terms of each product "
                                "(docs/orders.md), and tell in "
                                "how many elements it gives the backend's bits. This changes no verdict."});
  table.flags.push_back({.name = "values",
                         .target = &values,
                         .value = "FILE",
                         .doc = "Write what both backends computed for each case to this file, as frames of "
                                "tensors (docs/workers.md).",
                         .default_text = "none"});
  table.flags.push_back(wide_flag(wide));
  table.flags.push_back({.name = "json",
                         .target = &json,
                         .doc = "Print {\"cases\": [...]} on standard output and nothing else there."});
  table.examples = {
      {"replay corpus/scenarios", "Judge every case of a folder, as CI does."},
      {"replay fusesmith-work/findings/*/min.json", "Judge the findings of a campaign again."},
      {"replay --repeat=100 --bitwise case.json",
       "Check that the bits are the same in every run and on both backends."},
  };
  return table;
}

// Exit code: 77 when a case is a finding that its file does not expect, breaks its expectation, or (bitwise)
// has unequal outputs; else 71 when memory ran out; else 1 when a file could not be read; else 0. 72 when
// interrupted, 76 when the device failed: the rest is not replayed.
int run(ReplayFlags& flags, Console& console) {
  if (const auto why = flags.judge.cannot_run()) return fail(console, "replay", why->why, why->code);
  if (const auto problem = flags.judge.read_known()) return fail(console, "replay", problem->what);
  Replay replay(flags, console);
  if (const auto problem = replay.open_values()) return fail(console, "replay", problem->what, kCannotWrite);
  for (const std::string& argument : flags.files) replay.add(argument);
  return replay.finish();
}

}  // namespace

Command replay_command() { return command_of<ReplayFlags>(); }

}  // namespace fusesmith::fuzz
