#include "fuzz/cli/minimize_command.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "fuzz/base/files.h"
#include "fuzz/base/interrupt.h"
#include "fuzz/campaign/shrinking.h"
#include "fuzz/report/neighbours_text.h"
#include "fuzz/run/known_names.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kName = "minimize";
constexpr int kFirstTrials =
    10;  // of a case that may fail only sometimes, before it counts as one that passes

// "DIR/CASE.min.json" for "DIR/CASE.json".
std::string beside(const std::string& file, const char* ending) {
  const std::filesystem::path path(file);
  return (path.parent_path() / path.stem()).string() + ending;
}

Json size_json(const Measure& size) { return {{"nodes", size.nodes}, {"elements", size.elements}}; }

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
Neighbours neighbours_within(const Shrunk& shrunk, const Judging& judging, double max_seconds,
                             const Stop& stop) {
  NeighbourOptions options;
  options.max_seconds = std::min(options.max_seconds, max_seconds);
  try {
    return neighbours_of(shrunk.result.test_case, shrunk.seen, judging, stop, options);
  } catch (const Interrupted&) {
    Neighbours none;
    none.exhausted = true;
    return none;
  }
}

int minimize_file(const MinimizeFlags& flags, const Case& start, DeviceWatch& watch, Console& console) {
  const std::string& file = flags.files[0];
  Judging judging(flags.judge, start);
  judging.watch = &watch;
  judging.options.stop = InterruptGuard::interrupted;
  const std::string output = flags.output.empty() ? beside(file, ".min.json") : flags.output;
  const InterruptGuard guard;
  Case wanted = with_options(start, judging.options);
  wanted.expect.reset();  // speaks of the start

  std::vector<std::string> others;
  MinimizeOptions options;
  options.max_seconds = flags.max_seconds;
  options.max_queries = flags.max_queries;
  options.on_other = [&](const std::string& signature, const Case&) { others.push_back(signature); };
  const auto print_json = [&](const Shrunk& shrunk, const Neighbours& neighbours) {
    console.out << json_of(shrunk, file, output, others, neighbours)
                       .dump(2, ' ', false, Json::error_handler_t::replace)
                << "\n";
  };
  const Stop stop = [] { return InterruptGuard::interrupted(); };
  const Reproduction seen = reproduce(wanted, {}, judging, kFirstTrials, stop);
  if (stop()) throw Interrupted{};
  if (!seen.fails()) {
    const VerdictClass verdict = seen.run.verdict.verdict;
    if (flags.json)
      print_json({}, {});
    else
      console.out << file << ": does not fail (" << name(verdict) << "), nothing to minimize\n";
    return verdict == VerdictClass::out_of_memory ? kOutOfMemory : kClean;
  }
  const Shrunk shrunk = shrink(wanted, seen, judging, options, stop);
  const MinimizeResult& result = shrunk.result;
  if (stop()) throw Interrupted{};
  if (auto problem = write_file(output, to_json(result.test_case)))
    return fail(console, kName, problem->what, kCannotWrite);
  const Neighbours neighbours = neighbours_within(shrunk, judging, flags.max_seconds, stop);
  if (flags.json)
    print_json(shrunk, neighbours);
  else
    console.out << text_of(shrunk, neighbours, output, flags, console);
  return kFindings;
}

}  // namespace

FlagTable MinimizeFlags::table() {
  FlagTable table;
  table.command = "minimize";
  table.doc = "shrink a failing case to the smallest that fails in the same way.";
  table.details =
      "A smaller case counts only if its verdict has the same signature, and the result is judged once more "
      "before it is "
      "written. A case that fails only sometimes is tried again and again; the result says in how many runs "
      "it fails. Then cases that differ from the result in one size, dtype or attribute are judged, for a "
      "few seconds "
      "at most: which of them pass is printed too.\n"
      "\n"
      "Exit codes: 77 the case fails and was minimized, 0 it does not fail (nothing is written), 1 it cannot "
      "be read, 71 out "
      "of memory, 72 interrupted (nothing is written), 73 cannot write, 76 the GPU is missing, or it failed: "
      "then the case that ran is in CASE.suspect.json.";
  table.positional = {"CASE.json", &files, 1, 1};
  table.flags.push_back({.name = "output",
                         .target = &output,
                         .value = "MIN.json",
                         .doc = "Where the result goes.",
                         .default_text = "CASE.min.json beside the case"});
  table.flags.push_back({.name = "max_seconds",
                         .target = &max_seconds,
                         .value = "S",
                         .doc = "Stop there with what was reached."});
  table.flags.push_back({.name = "max_queries",
                         .target = &max_queries,
                         .value = "N",
                         .doc = "The same, in cases judged.",
                         .lo = 2});
  judge.add_to(table.flags, false);
  table.flags.push_back({.name = "json",
                         .target = &json,
                         .doc = "Print one JSON object on standard output, nothing else there."});
  table.examples = {
      {"minimize fusesmith-work/findings/SIGNATURE/case.json --output=min.json",
       "A campaign does this by itself; again, by hand."},
      {"minimize --baseline=cpu --candidate=cpu_fused case.json", "Which backends are meant."},
  };
  return table;
}

int run(MinimizeFlags& flags, Console& console) {
  const std::string& file = flags.files[0];
  auto start = read_known_case(file);
  if (!start) return fail(console, kName, start.problem());
  if (const auto why = flags.judge.unavailable()) return fail(console, kName, *why, kDeviceUnhealthy);
  const std::string suspect = beside(file, ".suspect.json");
  std::optional<Problem> not_saved;
  DeviceWatch watch([&](const std::vector<DeviceWatch::Running>& running) {
    not_saved = write_file(suspect, to_json(*running.at(0).test_case));
  });
  try {
    const DeviceWatch::Task task(watch, file);
    return minimize_file(flags, *start, watch, console);
  } catch (const Interrupted&) {
    return fail(console, kName, "interrupted, nothing written", kInterrupted);
  } catch (const DeviceError& error) {
    return fail_device(console, kName, not_saved ? not_saved->what : "what ran is in " + suspect, error);
  }
}

}  // namespace fusesmith::fuzz
