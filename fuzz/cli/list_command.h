// The `list` command: the lists of ops, patterns, backends and planted faults of this build, and what
// campaigns cover.
#pragma once

#include <string>
#include <vector>

#include "fuzz/cli/command.h"

namespace fusesmith::fuzz {

struct ListFlags {
  bool json = false;
  std::vector<std::string> what;

  FlagTable table();
};

// Exit code: 0, 1. With --json: {"faults": [{"name": .., "pattern": .., "doc": ..}]}, the key being what is
// listed. `coverage` with folders of campaigns: what these have counted together.
int run(ListFlags& flags, Console& console);

}  // namespace fusesmith::fuzz
