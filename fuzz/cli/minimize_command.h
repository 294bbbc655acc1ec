// The `minimize` command: the smallest case that fails like this one.
#pragma once

#include <string>
#include <vector>

#include "fuzz/cli/command.h"
#include "fuzz/run/judging.h"

namespace fusesmith::fuzz {

struct MinimizeFlags {
  JudgeFlags judge;
  std::string output;  // empty: CASE.min.json
  double max_seconds = 600;
  int64_t max_queries = 10000;
  bool json = false;
  std::vector<std::string> files;

  FlagTable table();
};

// Exit code: 77 when the case failed and was minimized, 0 when it does not fail (nothing is written), 1, 71,
// 72, 73, 76.
int run(MinimizeFlags& flags, Console& console);

}  // namespace fusesmith::fuzz
