// The `explain` command: one sentence that says what happened with a case, every region of both backends with
// all figures, and experiments that show what makes the difference (explanation.h).
#pragma once

#include <string>
#include <vector>

#include "fuzz/cli/command.h"
#include "fuzz/run/judging.h"

namespace fusesmith::fuzz {

struct ExplainFlags {
  JudgeFlags judge;
  bool json = false;
  double max_seconds = 60;
  std::vector<std::string> files;

  FlagTable table();
};

// Exit code: 77 for a finding, 1 for a file that cannot be read, 71 and 76 as everywhere, else 0.
int run(ExplainFlags& flags, Console& console);

}  // namespace fusesmith::fuzz
