// What the kernel has counted for the threads of a process and of all that it started: how long each of them
// ran, and how long it waited for a CPU.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <vector>

#include "graph/namespaces.h"

namespace fusesmith::backends {

struct ThreadTimes {
  std::chrono::nanoseconds ran{0};
  std::chrono::nanoseconds waited{0};  // for a CPU, though it could run; noted when it gets one
  int64_t slices = -1;                 // how often it was given a CPU; -1: this kernel does not count
};

// By thread id. Empty where /proc does not have the process.
using TreeTimes = std::map<pid_t, ThreadTimes>;

struct ProcessTree {
  std::vector<pid_t> processes;  // the first one, then its children, and so on
  TreeTimes times;
};
ProcessTree read_process_tree(pid_t root);

// 'R': runs or could run, 'S' and 'D': waits for something, 'T' and 't': stopped, 'Z': has ended. 0: gone.
char state_of_thread(pid_t thread);

}  // namespace fusesmith::backends
