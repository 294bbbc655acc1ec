// What a worker process takes of memory with all that it started, for --rss_limit_mb.
#pragma once

#include <sys/types.h>

#include <chrono>

#include "graph/namespaces.h"

namespace fusesmith::fuzz {

class WorkerMemory {
 public:
  // To be asked often: the process itself is looked at each time, what it started four times a second at
  // most, and less often where that takes long.
  bool exceeds(pid_t id, double limit_mb);

 private:
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace fusesmith::fuzz
