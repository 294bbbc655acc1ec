// One finding of a campaign: writes min.json, verdict.json and report.md beside its case.json. The last two
// describe both cases, the one found and the minimized one.
//
// findings/ has what is done with a finding: minimizing it (shrinking.h), trying it with other modes of a
// worker (ablations.h), and grouping those with one cause (groups.h).
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "fuzz/base/work_path.h"
#include "fuzz/findings/shrinking.h"

namespace fusesmith::fuzz {

struct FindingOptions {
  Judging judging = Judging(JudgeFlags{}, Judging::Elsewhere{});
  std::string flags;  // JudgeFlags::text() of what case files do not hold, for the commands in the report
  std::string program = "fusesmith";
  std::string_view commit = "unknown";  // that this program was built from
  bool minimize = true;
  std::function<bool()> stop;                   // asked between queries of the minimizer; true ends it early
  std::optional<Environment> environment = {};  // for the report; empty: that of this process
  std::string why_not_minimized = {};           // for the report, where `minimize` is false
  // For all of it; 0: the case is judged once more and reported as it was found.
  double max_seconds = std::numeric_limits<double>::infinity();
};

// A finding stays one if its issue became known after it was written to the work directory.
Judging without_issue_of(Judging judging, const std::string& signature);

// verdict.json of a finding as the campaign saw it, written with its case.json.
std::string first_verdict_text(const Verdict& verdict);
// The class that the folder's verdict.json names; empty if that file is missing or incomplete.
std::optional<VerdictClass> recorded_class(const WorkPath& folder);

// Judges the folder's case.json again and writes verdict.json, then min.json, then verdict.json with the
// verdict on that and report.md, each as soon as it is known; then both reports again with the neighbours of
// the minimized case. A case that fails only sometimes (a nondeterministic executor) is run repeatedly and
// reported with its failure rate; the report of one that never fails again says so. The problem is a file
// that cannot be read or written. `keep_other`, if given, is called with each case of another signature that
// the minimizer came across, and says whether it is on disk: the report is not written before all of them
// are.
using KeepOther = std::function<bool(const Verdict& verdict, const Case& test_case)>;
inline constexpr const char* kOtherNotKept =
    "a finding that was met while another one was minimized is not written yet";
std::optional<Problem> finish_finding(const WorkPath& folder, const std::string& signature,
                                      const FindingOptions& options, const KeepOther& keep_other = {});

// The report of a case as it is, as finish_finding writes it: the case is judged again, with ablations but
// without minimization and neighbours. `file`: its name, for the commands. Empty: the case did not fail with
// the signature, or, without one, did not fail. Nothing is written.
std::string issue_text(const std::string& file, const Case& test_case, const std::string& signature,
                       const FindingOptions& options);

// For a finding that is not to be run again: writes report.md, and verdict.json unless it is there, from what
// is known. `why`: why it was not minimized.
std::optional<Problem> report_unrun(const WorkPath& folder, const std::string& signature,
                                    const Verdict& verdict, const std::string& why,
                                    const FindingOptions& options);

}  // namespace fusesmith::fuzz
