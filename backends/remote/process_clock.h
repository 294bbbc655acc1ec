// The clock of time limits of other processes. It shows how long a process and all that it started would have
// taken on a machine that does nothing else: it goes slowly while they wait for a CPU, and stands still while
// they are stopped, or while this process does not run itself (a suspended job). It goes on while they sleep,
// or wait for a device, so that whatever does not end is late at some time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>

#include "backends/remote/process_times.h"

namespace fusesmith::backends {

class ProcessClock {
 public:
  using Clock = std::chrono::steady_clock;
  using Duration = std::chrono::nanoseconds;

  struct Reading {
    Duration had{0};      // the time that the clock shows
    Duration wall{0};     // the time that passed while this process ran
    Duration stopped{0};  // of that, how long they have been stopped now
  };

  explicit ProcessClock(pid_t root) : root_(root) {}

  // To be called at least ten times a second while something is awaited. Looks at the processes a few times a
  // second.
  void tick();
  // Nothing is awaited until the next tick: the time until then does not count.
  void rest() { last_.reset(); }
  const Reading& reading() const { return reading_; }

 private:
  void add(Duration passed);
  Duration longest_wait(const TreeTimes& now, Duration passed, Duration& ran);

  const pid_t root_;
  Reading reading_;
  std::optional<Clock::time_point> last_;  // sample
  std::optional<ProcessTree> seen_;        // then
  std::map<pid_t, Duration> assumed_;      // by thread: what it waits, which the kernel has not counted yet
  Duration interval_{0};
};

// A limit on such a clock.
class TimeLimit {
 public:
  enum class State {
    within,
    passed,
    stopped,     // the processes were stopped by a signal, and nobody let them go on
    overloaded,  // after many times the limit they have not had enough of a CPU to tell
  };
  // `from`: of the clock when the wait began.
  TimeLimit(const ProcessClock::Reading& from, ProcessClock::Duration limit) : from_(from), limit_(limit) {}
  TimeLimit(const ProcessClock::Reading& from, double seconds);
  State at(const ProcessClock::Reading& now) const;

  static constexpr std::chrono::seconds kMostStopped{10};
  static constexpr int kOverload = 20;  // times the limit

 private:
  ProcessClock::Reading from_;
  ProcessClock::Duration limit_;
};

}  // namespace fusesmith::backends
