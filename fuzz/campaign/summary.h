// What `fuzz` prints at its end: verdicts, patterns, holes in the coverage, findings with the commands to go
// on with.
#pragma once

#include <iosfwd>
#include <string>

#include "fuzz/counts/stats.h"
#include "fuzz/run/judging.h"
#include "fuzz/workdir/work_directory.h"

namespace fusesmith::fuzz {

std::string summary_text(const Stats& stats, const WorkDirectory& directory, const JudgeFlags& flags,
                         const std::string& program);

// The line about findings in red, or in green where there are none.
void print_summary(const std::string& text, std::ostream& out);

}  // namespace fusesmith::fuzz
