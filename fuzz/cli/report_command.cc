// The `report` command: the page of one or more campaigns (fuzz/page/page.h).
#include <ctime>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "fuzz/base/escape.h"
#include "fuzz/base/files.h"
#include "fuzz/base/table.h"
#include "fuzz/cli/command.h"
#include "fuzz/cli/folder_arguments.h"
#include "fuzz/page/page.h"
#include "fuzz/page/page_facts.h"

namespace fusesmith::fuzz {

namespace {

constexpr std::string_view kReportName = "report", kStandardOutput = "-";

struct ReportFlags {
  std::string output = "report.html";
  bool json = false;
  std::vector<std::string> workdirs;

  FlagTable table();
};

FlagTable ReportFlags::table() {
  FlagTable table;
  table.command = kReportName;
  table.doc = "write a page about campaigns: findings by cause, verdicts over time, coverage.";
  table.details =
      "Writes one HTML file that needs no network: the groups of findings with the failing region of each "
      "graph, the value beside the interval of correct values, and what fails and passes nearby; the "
      "course of each campaign; coverage with its gaps; versions and machines. Campaigns may be running. "
      "Findings of a group probably have one cause.\n"
      "\n"
      "Exit codes: 0 the page is written, 1 wrong usage, a work directory that cannot be read, or a "
      "file of a finding, which is named, while the page has the rest, 73 the page cannot be written.";
  table.positional = {"WORKDIR...", &workdirs, 1};
  table.flags.push_back({.name = "output",
                         .target = &output,
                         .value = "FILE|-",
                         .doc = "The file to write; `-` is standard output."});
  table.flags.push_back({.name = "json",
                         .target = &json,
                         .doc = "Print the facts of the page as one JSON object on standard output, and "
                                "write no page."});
  table.examples = {
      {"report fusesmith-work", "Write report.html."},
      {"report node*/work --output=all.html", "One page about several campaigns."},
      {"report --json fusesmith-work", "The same facts for a script."},
  };
  table.shows = true;
  return table;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[40];
  return std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &utc) > 0 ? text : "";
}

// Exit code: 0, 1, 73.
int run(ReportFlags& flags, Console& console) {
  leave_out_files(flags.workdirs, console);
  std::vector<std::string> problems;
  const auto facts = page_facts(flags.workdirs, console.commit, today(), &problems);
  if (!facts) return fail(console, kReportName, facts.problem());
  for (const std::string& problem : problems) fail(console, kReportName, printable(problem));
  const int code = problems.empty() ? kClean : kUsage;
  if (flags.json) {
    console.out << facts->dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    return code;
  }
  const std::string page = page_html(*facts);
  if (flags.output == kStandardOutput) {
    console.out << page;
    return code;
  }
  if (auto problem = write_file(flags.output, page))
    return fail(console, kReportName, problem->what, kCannotWrite);
  console.out << flags.output << ": " << counted(static_cast<int64_t>((*facts)["groups"].size()), "group")
              << " of " << counted((*facts)["findings"].get<int64_t>(), "finding") << " in "
              << counted((*facts)["cases"].get<int64_t>(), "case") << "; open it in a browser\n";
  return code;
}

}  // namespace

Command report_command() { return command_of<ReportFlags>(); }

}  // namespace fusesmith::fuzz
