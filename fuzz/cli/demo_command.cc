// The `demo` command: the usual commands, one after the other, on a backend with a known bug.
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "backends/demo/demo_backend.h"
#include "fuzz/base/files.h"
#include "fuzz/cli/command.h"
#include "fuzz/run/judging.h"

namespace fusesmith::fuzz {

namespace {

constexpr std::string_view kDemoName = "demo";

struct DemoFlags {
  std::string workdir = "fusesmith-demo";

  FlagTable table();
};

FlagTable DemoFlags::table() {
  FlagTable table;
  table.command = kDemoName;
  table.doc = "find, minimize and explain a bug in a toy kernel, and write the report.";
  table.details =
      "Runs a short campaign against the backend `demo`, which computes on the CPU and has a bug on purpose: "
      "its softmax forgets, in the sum of a row, the elements after the last full tile of 8. Each command "
      "is printed before it runs, so that it can be run again. No other command uses this backend unless "
      "--candidate=demo names it.\n"
      "\n"
      "Exit codes: 0 the bug was found and reported, 1 it was not, 72 interrupted, 73 a file cannot be "
      "written.";
  table.flags.push_back({.name = "workdir",
                         .target = &workdir,
                         .value = "DIR",
                         .doc = "The work directory of the campaign; it must be new, or that of an earlier "
                                "demo."});
  table.examples = {{"demo", "See a bug found in a few seconds."}};
  return table;
}

// Prints the command as a user would type it, and runs it.
int run_shown(const std::vector<std::string>& args, Console& console) {
  std::string line;
  for (const std::string& word : args) line += " " + shell_quoted(word);
  console.out << "\n$ " << console.program << line << "\n" << std::flush;
  return run_command_line(args, console);
}

// The smallest case of the first finding; empty if there is none.
std::string smallest_case(const std::string& workdir) {
  const WorkPath findings = WorkPath(workdir) / "findings";
  const auto names = names_in(findings);
  for (const std::string& name : names ? *names : std::vector<std::string>()) {
    const WorkPath file = findings / name / "min.json";
    if (kind_of(file) == FileKind::file) return file.string();
  }
  return "";
}

// Exit code: 0, 1, 72, 73.
int run(DemoFlags& flags, Console& console) {
  const std::string candidate = "--candidate=" + std::string(kDemoBackend);
  console.out << "The backend `demo` has a bug in its softmax. A campaign compares it with `cpu`, on graphs "
                 "that are\ngenerated without any knowledge of the bug.\n";
  std::error_code unknown;
  if (std::filesystem::exists(std::filesystem::path(flags.workdir) / "campaign.json", unknown))
    console.out << "The work directory " << shell_quoted(flags.workdir)
                << " is that of an earlier demo, whose campaign goes on; remove it to start afresh.\n";
  const int found = run_shown({"fuzz", "--baseline=cpu", candidate, "--max_findings=2", "--runs=3000",
                               "--max_total_time=10s", "--workdir=" + flags.workdir},
                              console);
  if (found != kFindings && found != kClean) return found;
  const std::string file = smallest_case(flags.workdir);
  if (file.empty()) return fail(console, kDemoName, "the campaign did not find the bug");
  run_shown({"explain", "--baseline=cpu", candidate, file}, console);
  const std::string page = (std::filesystem::path(flags.workdir) / "report.html").string();
  const int written = run_shown({"report", flags.workdir, "--output=" + page}, console);
  if (written != kClean) return written;
  std::error_code ignored;
  console.out << "\nThe report of the finding for an issue: "
              << (std::filesystem::path(file).parent_path() / "report.md").string()
              << "\nThe page of the campaign, for a browser:  file://"
              << std::filesystem::absolute(page, ignored).string() << "\n";
  return kClean;
}

}  // namespace

Command demo_command() { return command_of<DemoFlags>(); }

}  // namespace fusesmith::fuzz
