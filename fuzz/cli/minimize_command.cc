// The `minimize` command: the smallest case that fails like this one.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "fuzz/base/files.h"
#include "fuzz/base/interrupt.h"
#include "fuzz/cli/command.h"
#include "fuzz/findings/shrinking.h"
#include "fuzz/findings/snippet_of.h"
#include "fuzz/report/finding_json.h"
#include "fuzz/report/neighbours_text.h"
#include "fuzz/report/verdict_text.h"
#include "fuzz/run/case_files.h"
#include "fuzz/run/judging.h"

namespace fusesmith::fuzz {

namespace {

struct MinimizeFlags {
  JudgeFlags judge;
  std::string output;  // empty: CASE.min.json
  double max_seconds = 600;
  int64_t max_queries = 10000;
  std::vector<std::string> keep_data;
  bool keep_sizes = false;
  bool json = false;
  std::vector<std::string> files;

  FlagTable table();
};

using Json = nlohmann::ordered_json;

constexpr std::string_view kMinimizeName = "minimize";
// Of a case that may fail only sometimes, before it counts as one that passes.
constexpr int kFirstTrials = 10;

// "DIR/CASE.min.json" for "DIR/CASE.json".
std::string beside(const std::string& file, const char* ending) {
  const std::filesystem::path path(file);
  return (path.parent_path() / path.stem()).string() + ending;
}

Json size_json(const Measure& size) { return {{"nodes", size.nodes}, {"elements", size.elements}}; }

// What the result is judged to be, as `replay` says it, and lines that show it.
Json judged_result(const Shrunk& shrunk, const std::string& output, const Judging& judging,
                   std::string_view commit) {
  const CaseRun& run = shrunk.seen.run;
  return {{"judged", judged_json(output, run.verdict)},
          {"sentence", sentence(run.verdict)},
          {"snippet", snippet_of(shrunk.result.test_case, run, judging.candidate,
                                 environment_of({judging.candidate}, commit))}};
}

Json json_of(const Shrunk& shrunk, const std::string& file, const std::string& output,
             const std::vector<std::string>& others, const Neighbours& neighbours) {
  const MinimizeResult& result = shrunk.result;
  Json json = {{"file", file}, {"reproduced", result.fails}};
  if (!result.fails) return json;
  json.update({{"output", output},
               {"signature", result.signature},
               {"before", size_json(result.before)},
               {"after", size_json(result.after)},
               {"queries", result.queries},
               {"seconds", result.seconds},
               {"exhausted", result.exhausted},
               {"flaky", shrunk.seen.rate.sometimes()},
               {"failure_rate", {{"failed", shrunk.seen.rate.failed}, {"runs", shrunk.seen.rate.runs}}},
               {"edits", result.edits},
               {"other_signatures", others},
               {"neighbours", to_json(neighbours)}});
  return json;
}

std::string text_of(const Shrunk& shrunk, const Neighbours& neighbours, const std::string& output,
                    const MinimizeFlags& flags, const Console& console) {
  return shrunk.result.signature + "\n" + shrink_text(shrunk) + "\n" + neighbours_summary(neighbours) +
         "Replay it with:\n  " + console.program + " replay " + shell_quoted(output) + flags.judge.text() +
         "\n";
}

// The result is written by now: an interrupt only ends this search.
Neighbours neighbours_within(const Shrunk& shrunk, const Judging& judging, const MinimizeFlags& flags,
                             const Stop& stop) {
  NeighbourOptions options;
  options.max_seconds = std::min(options.max_seconds, flags.max_seconds);
  options.keep_data = flags.keep_data;
  options.keep_sizes = flags.keep_sizes;
  try {
    return neighbours_of(shrunk.result.test_case, shrunk.seen, judging, stop, options);
  } catch (const Interrupted&) {
    Neighbours none;
    none.exhausted = true;
    return none;
  }
}

// What minimizing one case came to.
struct Outcome {
  int code = kClean;
  Json json;
  std::string text;
};

Outcome minimize_case(const MinimizeFlags& flags, const std::string& file, const Case& start, Judging judging,
                      const Console& console) {
  judging.options.stop = Signals::interrupted;
  const std::string output = flags.output.empty() ? beside(file, ".min.json") : flags.output;
  Case wanted = with_options(start, judging.options);
  wanted.expect.reset();  // speaks of the start

  std::vector<std::string> others;
  MinimizeOptions options;
  options.max_seconds = flags.max_seconds;
  options.max_queries = flags.max_queries;
  options.keep_data = flags.keep_data;
  options.keep_sizes = flags.keep_sizes;
  options.on_other = [&](const std::string& signature, const Case&) { others.push_back(signature); };
  const Stop stop = [] { return Signals::interrupted(); };
  const Reproduction seen = reproduce(wanted, {}, judging, kFirstTrials, stop);
  if (stop()) throw Interrupted{};
  if (!seen.fails()) {
    const Verdict& verdict = seen.run.verdict;
    const std::string what = std::string(name(verdict.verdict)) + known_text(verdict);
    return {is_shortage(verdict.verdict) ? code_of_shortage(verdict.verdict) : kClean,
            json_of({}, file, output, others, {}),
            file + ": does not fail (" + what + "), nothing to minimize\n"};
  }
  const Shrunk shrunk = shrink(wanted, seen, judging, options, stop);
  const MinimizeResult& result = shrunk.result;
  if (stop()) throw Interrupted{};
  if (const auto problem = write_case_file(output, result.test_case))
    return {kCannotWrite, {}, problem->what};
  const Neighbours neighbours = neighbours_within(shrunk, judging, flags, stop);
  Json json = json_of(shrunk, file, output, others, neighbours);
  if (flags.json) json.update(judged_result(shrunk, output, judging, console.commit));
  return {kFindings, std::move(json), text_of(shrunk, neighbours, output, flags, console)};
}

// One file of several, or the only one; its JSON goes into `cases`. Throws Interrupted.
int minimize_file(const MinimizeFlags& flags, const std::string& file, Json& cases, Console& console) {
  const auto start = read_case_argument(file);
  if (Signals::interrupted()) throw Interrupted{};
  if (!start) return fail(console, kMinimizeName, start.problem());
  auto judging = Judging::of_case(flags.judge, file, *start);
  if (!judging) return fail(console, kMinimizeName, judging.problem());
  const std::string suspect = beside(file == kStandardInput ? flags.output : file, ".suspect.json");
  std::optional<Problem> not_saved;
  judging->on_device_failure = [&](const Case& test_case) {
    not_saved = write_case_file(suspect, test_case);
  };
  try {
    const Outcome outcome = minimize_case(flags, file, *start, std::move(*judging), console);
    if (outcome.code == kCannotWrite) return fail(console, kMinimizeName, outcome.text, kCannotWrite);
    cases.push_back(outcome.json);
    const bool named = flags.files.size() > 1 && outcome.code == kFindings;
    if (!flags.json) console.out << (named ? file + ": " : "") << outcome.text << std::flush;
    return outcome.code;
  } catch (const DeviceError& error) {
    return fail_device(console, kMinimizeName, not_saved ? not_saved->what : "what ran is in " + suspect,
                       error);
  }
}

FlagTable MinimizeFlags::table() {
  FlagTable table;
  table.command = "minimize";
  table.doc = "reduce failing cases to the smallest ones that fail in the same way.";
  table.details =
      "A smaller case is accepted only if its verdict has the same signature, and the result is judged "
      "again before it is written. A case that fails only in some runs is run repeatedly, and the result "
      "shows in how many of these it fails. Finally, cases that differ from the result in one size, dtype, "
      "attribute or op are judged, for a few seconds at most, and the report shows which of these pass. `-` "
      "is a case on standard input, and needs --output.\n"
      "\n"
      "Exit codes: 77 a case fails and was minimized, 0 no case fails (nothing is written), 1 a file "
      "cannot be read (the other files are still minimized), 71 out of memory, 72 interrupted (nothing "
      "is written for the current case), 73 cannot write, 75 the machine was too busy for a worker to "
      "answer, 76 the GPU is missing, or it failed: then the "
      "case that was running is in CASE.suspect.json.";
  table.positional = {"CASE.json|-...", &files, 1};
  table.flags.push_back({.name = "output",
                         .target = &output,
                         .value = "MIN.json",
                         .doc = "File for the result; only with one case.",
                         .default_text = "CASE.min.json beside the case"});
  table.flags.push_back({.name = "max_seconds",
                         .target = &max_seconds,
                         .value = "TIME",
                         .doc = "Stop minimizing a case after this time, in seconds or as 90s, 5m or 2h, and "
                                "write the smallest case so far.",
                         .unit = Flag::Unit::seconds});
  table.flags.push_back({.name = "max_queries",
                         .target = &max_queries,
                         .value = "N",
                         .doc = "Stop minimizing a case after judging this many candidates, and write the "
                                "smallest case so far.",
                         .lo = 2});
  table.flags.push_back({.name = "keep_data",
                         .target = &keep_data,
                         .value = "A,B",
                         .doc = "Do not replace the data of these inputs by simpler data, because the "
                                "program is only meant for such data."});
  table.flags.push_back(
      {.name = "keep_sizes",
       .target = &keep_sizes,
       .doc = "Keep all sizes, and try no others, because the graph is only meant for these: with "
              "others, it would have other attributes."});
  judge.add_to(table.flags);
  table.flags.push_back({.name = "json",
                         .target = &json,
                         .doc = "Print one JSON object on standard output and nothing else there; for "
                                "several files {\"cases\": [...]}."});
  table.examples = {
      {"minimize fusesmith-work/findings/SIGNATURE/case.json --output=min.json",
       "Minimize a finding again, as its campaign has done."},
      {"minimize --baseline=cpu --candidate=cpu_fused case.json", "Choose the backends."},
  };
  return table;
}

// Exit code: that of the most severe case. A file that cannot be read does not stop the others; a signal and
// a device that failed do.
int run(MinimizeFlags& flags, Console& console) {
  const bool several = flags.files.size() > 1;
  const bool has_stdin =
      std::find(flags.files.begin(), flags.files.end(), kStandardInput) != flags.files.end();
  if (several && !flags.output.empty())
    return fail(console, kMinimizeName,
                "--output: expected one case, got " + std::to_string(flags.files.size()));
  if (has_stdin && flags.output.empty())
    return fail(console, kMinimizeName, "a case on standard input needs --output=MIN.json");
  if (const auto why = flags.judge.cannot_run()) return fail(console, kMinimizeName, why->why, why->code);
  if (const auto problem = flags.judge.read_known()) return fail(console, kMinimizeName, problem->what);
  Signals::finish_first();
  int code = kClean;
  Json cases = Json::array();
  for (const std::string& file : flags.files) {
    try {
      code = more_severe(code, minimize_file(flags, file, cases, console));
      if (code == kDeviceUnhealthy) break;
    } catch (const Interrupted&) {
      code = fail(console, kMinimizeName, (several ? file + ": " : "") + "interrupted, nothing written",
                  kInterrupted);
      break;
    }
  }
  if (flags.json) print_cases(cases, flags.files.size(), console);
  return code;
}

}  // namespace

Command minimize_command() { return command_of<MinimizeFlags>(); }

}  // namespace fusesmith::fuzz
