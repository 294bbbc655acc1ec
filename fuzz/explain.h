// The `explain` command: one sentence that says what happened with a case, and every region of both backends
// with all figures.
#pragma once

#include <string>
#include <vector>

#include "fuzz/command.h"
#include "fuzz/judging.h"

namespace fusesmith {

struct ExplainFlags {
  JudgeFlags judge;
  bool json = false;
  std::vector<std::string> files;

  FlagTable table();
};

// Exit code: 77 for a finding, 1 for a file that cannot be read, 71 and 76 as everywhere, else 0.
int run(ExplainFlags& flags, Console& console);

}  // namespace fusesmith
