// Signals that ask a command to end. The handlers are set once, before anything else, and what came is never
// forgotten. SIGINT, SIGTERM and SIGHUP (unless it was ignored, as under nohup): the first ends the process
// at once (exit 72), or asks a command that can finish what is in flight (of a case the step at hand:
// RunOptions::stop); the second always ends it at once. SIGUSR1, SIGUSR2 and SIGXCPU, by which batch systems
// announce the end of a job, do what the first does, however often they come; `fuzz` and `merge` then exit
// with 75.
#pragma once

#include <string_view>

#include "graph/namespaces.h"

namespace fusesmith::fuzz {

class Signals {
 public:
  // The first thing that main() does. Signals that were blocked, and came before, are handled now.
  static void catch_all(std::string_view command);
  // From now on, the first signal asks: the command looks at interrupted(), and returns 72 or 75 itself.
  static void finish_first();

  // Whether a signal came.
  static bool interrupted();
  // Whether only a batch system asked: cases in flight may be finished, and the campaign is to be started
  // again.
  static bool preempted();

  // For tests, which run one command after the other in one process: as when a program starts.
  static void forget();
};

}  // namespace fusesmith::fuzz
