// The `list` command: the lists of ops, patterns, backends and planted faults of this build.
#pragma once

#include <string>
#include <vector>

#include "fuzz/command.h"

namespace fusesmith {

struct ListFlags {
  bool json = false;
  std::vector<std::string> what;

  FlagTable table();
};

// Exit code: 0, 1. With --json: {"faults": [{"name": .., "pattern": .., "doc": ..}]}, the key being what is
// listed.
int run(ListFlags& flags, Console& console);

}  // namespace fusesmith
