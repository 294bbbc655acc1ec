#include "backends/remote/process_clock.h"

#include <sched.h>

#include <algorithm>

namespace fusesmith::backends {
namespace {

using Duration = ProcessClock::Duration;
using std::chrono::milliseconds;

constexpr milliseconds kInterval{100};      // between two looks
constexpr milliseconds kMostInterval{500};  // what is longer was no time of this process
constexpr int kCost = 50;                   // a look may take 1 / kCost of the time

int usable_cpus() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

bool is_stopped(pid_t process) {
  const char state = state_of_thread(process);
  return state == 'T' || state == 't';
}

}  // namespace

void ProcessClock::tick() {
  const auto now = Clock::now();
  if (!last_) {
    last_ = now;
    seen_.reset();
    interval_ = kInterval;
    return;
  }
  if (now - *last_ < interval_) return;
  const Duration passed = now - *last_;
  last_ = now;
  add(passed);
  interval_ = std::clamp<Duration>(kCost * (Clock::now() - now), kInterval, kMostInterval / 2);
}

// The longest that a thread waited for a CPU. What a thread waits is counted when it gets one, so of one that
// still waits only its state tells.
Duration ProcessClock::longest_wait(const TreeTimes& now, Duration passed, Duration& ran) const {
  Duration longest{0};
  std::vector<pid_t> idle;
  for (const auto& [thread, times] : now) {
    const auto before = seen_->times.find(thread);
    const bool known = before != seen_->times.end() && before->second.ran <= times.ran;
    const Duration its_run = std::min(passed, times.ran - (known ? before->second.ran : Duration(0)));
    const Duration waited = times.waited - (known ? before->second.waited : Duration(0));
    ran += its_run;
    longest = std::max(longest, std::min(waited, passed - its_run));
    if (known && times.slices == before->second.slices && its_run < passed / 2) idle.push_back(thread);
  }
  if (longest < passed / 2) {
    for (const pid_t thread : idle) {
      if (state_of_thread(thread) != 'R') continue;
      return std::max(longest, passed - (now.at(thread).ran - seen_->times.at(thread).ran));
    }
  }
  return longest;
}

// The tree had the time in which no thread of it waited for a CPU, and at least what all CPUs of this machine
// would have needed for what it did: threads that it has in excess of them may wait for each other.
void ProcessClock::add(Duration passed) {
  ProcessTree now = read_process_tree(root_);
  const Duration counted = std::min<Duration>(passed, kMostInterval);
  reading_.wall += counted;
  if (!seen_) {  // a first look
    reading_.had += std::min<Duration>(counted, 2 * kInterval);
    reading_.stopped = Duration(0);
    seen_ = std::move(now);
    return;
  }
  Duration ran{0};
  const Duration waited = longest_wait(now.times, passed, ran);
  constexpr int kMostly = 20;
  const bool rests = ran < passed / kMostly && waited < passed / kMostly;
  if (rests && std::any_of(now.processes.begin(), now.processes.end(), is_stopped)) {
    reading_.stopped += counted;
  } else {
    reading_.stopped = Duration(0);
    reading_.had += std::max(std::min(passed - waited, counted), std::min(ran / usable_cpus(), counted));
  }
  seen_ = std::move(now);
}

TimeLimit::TimeLimit(const ProcessClock::Reading& from, double seconds)
    : from_(from),
      limit_(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::min(seconds, 1e8)))) {}

TimeLimit::State TimeLimit::at(const ProcessClock::Reading& now) const {
  if (now.had - from_.had > limit_) return State::passed;
  if (now.stopped > kMostStopped) return State::stopped;
  const Duration wall = now.wall - from_.wall;
  if (wall / kOverload > limit_) return State::overloaded;
  return State::within;
}

}  // namespace fusesmith::backends
