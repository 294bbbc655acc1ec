// report.md of a finding that was met and not minimized yet. It is written with the finding's case.json, so
// that there is a report whatever ends the campaign, and the whole report takes its place.
#pragma once

#include <string>
#include <string_view>

#include "graph/case.h"
#include "oracle/judge.h"

namespace fusesmith::fuzz {

// What it begins with. A finding whose report.md begins so is minimized when the campaign is started again.
inline constexpr std::string_view kNotFinished =
    "<!-- not minimized yet; fusesmith fuzz replaces this report -->\n";

struct FirstReport {
  std::string title, what;          // of the verdict on the case as it was found
  std::string case_text;            // as case.json has it
  std::string file, workdir;        // case.json, and the work directory
  std::string program, flags = {};  // of the commands
};

// The title of a report on this case, and its paragraph about what is wrong.
struct Headline {
  std::string title, what;
};
Headline headline_of(const Verdict& verdict, const Case& test_case);

// Ends with kReportEnd, as every report.
std::string first_report_text(const FirstReport& report);

}  // namespace fusesmith::fuzz
