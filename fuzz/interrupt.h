// SIGINT and SIGTERM: the first asks to finish what is in flight, the second ends the process at once (exit
// 72).
#pragma once

#include <csignal>

namespace fusesmith {

// While one lives, the signals are caught; the handlers of before come back afterwards. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard();

  // Whether a signal came since this guard was made.
  static bool interrupted();

 private:
  struct sigaction old_int_ = {}, old_term_ = {};
};

}  // namespace fusesmith
