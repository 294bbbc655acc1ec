#include "fuzz/report/first_report.h"

#include "fuzz/base/escape.h"
#include "fuzz/report/finding_facts.h"
#include "fuzz/report/finding_markdown.h"
#include "fuzz/run/judging.h"

namespace fusesmith::fuzz {

Headline headline_of(const Verdict& verdict, const Case& test_case) {
  JudgedCase judged{"", test_case, {}};
  judged.seen.run.verdict = verdict;
  const FindingFacts facts = facts_of(judged, {});
  return {facts.title, what_is_wrong(facts, verdict)};
}

std::string first_report_text(const FirstReport& report) {
  const std::string program = shell_quoted(report.program), file = shell_quoted(report.file);
  const std::string commands = program + " replay " + file + report.flags + "\n" + program + " explain " +
                               file + report.flags + "\n" + program + " minimize " + file + report.flags +
                               "\n";
  return std::string(kNotFinished) + "# " + markdown_escaped(report.title) + "\n\n" +
         markdown_escaped(report.what) + "\n\nCase: " + markdown_code(report.file) +
         ", as it was found. The campaign has not minimized it yet, and does that when it is started "
         "again: " +
         markdown_code(program + " fuzz --workdir=" + shell_quoted(report.workdir)) +
         ". To see the failure again, and to minimize it now:\n\n" + markdown_block(commands, "sh") +
         "\n<details><summary>case.json</summary>\n\n" +
         (report.case_text.size() <= kMostCaseBytes ? markdown_block(report.case_text, "json")
                                                    : "It is too long to be shown here.\n") +
         "\n" + std::string(kReportEnd);
}

}  // namespace fusesmith::fuzz
