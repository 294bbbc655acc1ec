// What the program's exit codes mean; libFuzzer's numbers where it has them. Other people's scripts rely on
// these.
#pragma once

#include "graph/namespaces.h"

namespace fusesmith::fuzz {

enum ExitCode : int {
  kClean = 0,
  kUsage = 1,  // or a file that cannot be read
  kTimeout = 70,
  kOutOfMemory = 71,
  kInterrupted = 72,
  kCannotWrite = 73,
  kPreempted = 75,        // start it again, of a campaign to go on
  kDeviceUnhealthy = 76,  // the GPU is missing, or it failed
  kFindings = 77,
};

// Of two cases' codes the one that their command ends with: what stopped it comes first, then the gravest.
constexpr int more_severe(int a, int b) {
  for (const int code : {kDeviceUnhealthy, kInterrupted, kPreempted, kCannotWrite, kFindings, kTimeout,
                         kOutOfMemory, kUsage}) {
    if (a == code || b == code) return code;
  }
  return kClean;
}

}  // namespace fusesmith::fuzz
