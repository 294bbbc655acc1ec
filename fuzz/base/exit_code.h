// What the program's exit codes mean; libFuzzer's numbers where it has them. Other people's scripts rely on
// these.
#pragma once

#include "graph/namespaces.h"

namespace fusesmith::fuzz {

enum ExitCode : int {
  kClean = 0,
  kUsage = 1,  // or a file that cannot be read
  kOutOfMemory = 71,
  kInterrupted = 72,
  kCannotWrite = 73,
  kDeviceUnhealthy = 76,  // the GPU is missing, or it failed
  kFindings = 77,
};

}  // namespace fusesmith::fuzz
