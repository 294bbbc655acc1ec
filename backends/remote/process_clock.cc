#include "backends/remote/process_clock.h"

#include <sched.h>

#include <algorithm>

namespace fusesmith::backends {
namespace {

using Duration = ProcessClock::Duration;
using std::chrono::milliseconds;

constexpr milliseconds kInterval{100};      // between two looks
constexpr milliseconds kMostInterval{500};  // what is longer was no time of this process
constexpr int kMostly = 20;                 // 1 / kMostly of a time is too little to matter
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

// The longest that a thread waited for a CPU. The kernel counts what a thread waits when it gets one. So a
// thread that could run now counts as waiting since it last ran, until the kernel says how long that was.
Duration ProcessClock::longest_wait(const TreeTimes& now, Duration passed, Duration& ran) {
  Duration longest{0};
  std::vector<std::pair<pid_t, Duration>> idle;  // threads and what is not known of their time
  std::map<pid_t, Duration> assumed;
  for (const auto& [thread, times] : now) {
    const auto found = seen_->times.find(thread);
    const bool known = found != seen_->times.end() && found->second.ran <= times.ran;
    const ThreadTimes before = known ? found->second : ThreadTimes{};
    const Duration its_run = std::min(passed, times.ran - before.ran), counted = times.waited - before.waited;
    const bool still = known && times.slices == before.slices;
    const Duration earlier = assumed_.contains(thread) ? assumed_[thread] : Duration(0);
    const Duration waited = std::clamp<Duration>(counted - earlier, Duration(0), passed - its_run);
    if (still) assumed[thread] = earlier;
    ran += its_run;
    longest = std::max(longest, waited);
    const Duration unknown = passed - its_run - waited;
    if (!known || unknown < passed / kMostly) continue;
    if (still) {
      idle.emplace_back(thread, unknown);
    } else if (counted > its_run && state_of_thread(thread) == 'R') {
      assumed[thread] = unknown;
      longest = std::max(longest, waited + unknown);
    }
  }
  for (const auto& [thread, unknown] : idle) {
    if (longest >= passed - passed / kMostly) break;
    if (state_of_thread(thread) != 'R') continue;
    assumed[thread] += unknown;
    longest = std::max(longest, unknown);
  }
  assumed_ = std::move(assumed);
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
    assumed_.clear();
    seen_ = std::move(now);
    return;
  }
  Duration ran{0};
  const Duration waited = longest_wait(now.times, passed, ran);
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
