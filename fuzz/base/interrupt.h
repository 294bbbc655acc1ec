// Signals that ask a command to end. SIGINT, SIGTERM and SIGHUP (unless it was ignored, as under nohup): the
// first asks to finish what is in flight (of a case the step at hand: RunOptions::stop), the second ends the
// process at once (exit 72). SIGUSR1, SIGUSR2 and SIGXCPU, by which batch systems announce the end of a job,
// ask for the same, however often they come.
#pragma once

#include <csignal>
#include <utility>
#include <vector>

namespace fusesmith::fuzz {

// While one lives, the signals are caught; the handlers of before come back afterwards. One at a time.
class InterruptGuard {
 public:
  enum class First { asks, ends };  // what the first signal does
  explicit InterruptGuard(First first = First::asks);
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard();

  // Whether a signal came since this guard was made.
  static bool interrupted();
  // Whether only a batch system asked: cases in flight may be finished, and the campaign is to be started
  // again.
  static bool preempted();

 private:
  std::vector<std::pair<int, struct sigaction>> old_;
};

}  // namespace fusesmith::fuzz
