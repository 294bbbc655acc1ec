// The `replay` command: judges case files again, compares with what they expect, and on demand repeats them
// or asks for equal bits.
#pragma once

#include <string>
#include <vector>

#include "fuzz/cli/command.h"
#include "fuzz/run/judging.h"

namespace fusesmith::fuzz {

struct ReplayFlags {
  JudgeFlags judge;
  int64_t repeat = 0;
  bool bitwise = false;
  bool json = false;
  std::vector<std::string> files;

  FlagTable table();
};

// Exit code: 77 when a case is a finding that its file does not expect, breaks its expectation, or (bitwise)
// has unequal outputs; else 71 when memory ran out; else 1 when a file could not be read; else 0. 72 when
// interrupted, 76 when the device failed: the rest is not replayed.
int run(ReplayFlags& flags, Console& console);

}  // namespace fusesmith::fuzz
