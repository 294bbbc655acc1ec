// The `generate` command: the cases that a campaign would judge, as files.
#pragma once

#include <string>

#include "fuzz/cli/command.h"

namespace fusesmith::fuzz {

struct GenerateFlags {
  uint64_t seed = 1;
  uint64_t count = 10;
  uint64_t first = 0;
  std::string shard = "0/1";
  std::string data = "mixed";
  std::string output;
  bool json = false;

  FlagTable table();
};

// Exit code: 0, 1, 72, 73.
int run(GenerateFlags& flags, Console& console);

}  // namespace fusesmith::fuzz
