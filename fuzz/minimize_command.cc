#include "fuzz/minimize_command.h"

#include <nlohmann/json.hpp>
#include <ostream>

#include "fuzz/files.h"
#include "fuzz/interrupt.h"
#include "fuzz/shrinking.h"

namespace fusesmith {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kName = "minimize";

std::string default_output(const std::string& file) {
  const std::filesystem::path path(file);
  return (path.parent_path() / path.stem()).string() + ".min.json";
}

Json size_json(const Measure& size) { return {{"nodes", size.nodes}, {"elements", size.elements}}; }

Json json_of(const MinimizeResult& result, const std::string& file, const std::string& output,
             const std::vector<std::string>& others) {
  Json json = {{"file", file}, {"reproduced", result.fails}};
  if (!result.fails) return json;
  json.update({{"output", output},
               {"signature", result.signature},
               {"before", size_json(result.before)},
               {"after", size_json(result.after)},
               {"queries", result.queries},
               {"seconds", result.seconds},
               {"exhausted", result.exhausted},
               {"flaky", result.flaky},
               {"edits", result.edits},
               {"other_signatures", others}});
  return json;
}

std::string text_of(const MinimizeResult& result, const std::string& output, const MinimizeFlags& flags,
                    const Console& console) {
  return result.signature + "\n" + shrink_text(result) + "\nReplay it with:\n  " + console.program +
         " replay " + shell_quoted(output) + flags.judge.text() + "\n";
}

}  // namespace

FlagTable MinimizeFlags::table() {
  FlagTable table;
  table.command = "minimize";
  table.doc = "shrink a failing case to the smallest that fails in the same way.";
  table.details =
      "A smaller case counts only if its verdict has the same signature, and the result is judged once more "
      "before it is "
      "written.\n"
      "\n"
      "Exit codes: 77 the case fails and was minimized, 0 it does not fail (nothing is written), 1 it cannot "
      "be read, 72 "
      "interrupted (nothing is written), 73 cannot write.";
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
  auto start = read_case_file(file);
  if (!start) return fail(console, kName, start.problem());
  const Judging judging(flags.judge, *start);
  const std::string output = flags.output.empty() ? default_output(file) : flags.output;
  const InterruptGuard guard;
  Case wanted = with_options(*start, judging.options);
  wanted.expect.reset();  // speaks of the start

  std::vector<std::string> others;
  MinimizeOptions options;
  options.max_seconds = flags.max_seconds;
  options.max_queries = flags.max_queries;
  options.on_other = [&](const std::string& signature, const Case&) { others.push_back(signature); };
  const MinimizeResult result =
      shrink(wanted, judging, options, [] { return InterruptGuard::interrupted(); });
  if (InterruptGuard::interrupted())
    return fail(console, kName, "interrupted, nothing written", kInterrupted);
  if (result.fails) {
    if (auto problem = write_file(output, to_json(result.test_case)))
      return fail(console, kName, problem->what, kCannotWrite);
  }
  if (flags.json) {
    console.out << json_of(result, file, output, others).dump(2) << "\n";
  } else if (result.fails) {
    console.out << text_of(result, output, flags, console);
  } else {
    console.out << file << ": does not fail (" << name(judging.run(*start).verdict.verdict)
                << "), nothing to minimize\n";
  }
  return result.fails ? kFindings : kClean;
}

}  // namespace fusesmith
