// SIGINT, SIGTERM and SIGHUP (unless it was ignored, as under nohup): the first asks to finish what is in
// flight (of a case the step at hand: RunOptions::stop), the second ends the process at once (exit 72).
#pragma once

#include <array>
#include <csignal>

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

 private:
  std::array<struct sigaction, 3> old_ = {};
};

}  // namespace fusesmith::fuzz
