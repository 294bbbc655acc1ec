// What `fuzz` prints at its end: verdicts, patterns, holes in the coverage, findings with the commands to go
// on with.
#pragma once

#include <string>

#include "fuzz/judging.h"
#include "fuzz/stats.h"
#include "fuzz/work_directory.h"

namespace fusesmith {

std::string summary_text(const Stats& stats, const WorkDirectory& directory, const JudgeFlags& flags,
                         const std::string& program);

}  // namespace fusesmith
