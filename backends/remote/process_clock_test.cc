// The clock against real processes: busy, asleep and stopped ones, beside others that want the same CPU. No
// test depends on how fast the machine is: each waits for what the kernel counted.
#include "backends/remote/process_clock_test.h"

#include <gtest/gtest.h>

#include <thread>

#include "backends/remote/process_clock.h"

namespace fusesmith::backends {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Duration = ProcessClock::Duration;

Duration cpu_time(pid_t root) {
  Duration ran{0};
  for (const auto& [thread, times] : read_process_tree(root).times) ran += times.ran;
  return ran;
}

void tick_until(ProcessClock& clock, const std::function<bool()>& done) {
  while (!done()) {
    clock.tick();
    std::this_thread::sleep_for(milliseconds(20));
  }
}

// Allows for the first look, and for what passes between two looks.
constexpr milliseconds kSlack{600};

TEST(ProcessClock, ABusyProcessHasItsCpuTimeHoweverManyOthersWantTheCpu) {
  const Forked process(burn);
  const BusyProcesses neighbours(5);
  ProcessClock clock(process.id());
  tick_until(clock, [&] { return cpu_time(process.id()) > milliseconds(600); });
  EXPECT_GT(clock.reading().had, milliseconds(300));
  EXPECT_LT(clock.reading().had, milliseconds(600) + kSlack);
  EXPECT_GT(clock.reading().wall, 2 * clock.reading().had);
}

TEST(ProcessClock, WhatAProcessStartedCountsAsItself) {
  const Forked process([] {
    if (fork() == 0) {
      setpgid(0, 0);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      burn();
    }
    sleep_for_ever();
  });
  const BusyProcesses neighbours(5);
  ProcessClock clock(process.id());
  tick_until(clock, [&] { return cpu_time(process.id()) > milliseconds(600); });
  EXPECT_LT(clock.reading().had, milliseconds(600) + kSlack);
  EXPECT_GT(clock.reading().wall, 2 * clock.reading().had);
}

TEST(ProcessClock, GoesOnWhileAProcessSleepsOnABusyMachine) {
  const Forked process(sleep_for_ever);
  const BusyProcesses neighbours(5);
  ProcessClock clock(process.id());
  tick_until(clock, [&] { return clock.reading().wall > seconds(2); });
  EXPECT_GT(clock.reading().had, milliseconds(1500));
}

TEST(ProcessClock, GoesOnWhileOneThreadOfManyBeats) {
  const Forked process([] {
    std::thread([] {
      for (;;) std::this_thread::sleep_for(milliseconds(200));
    }).detach();
    sleep_for_ever();
  });
  const BusyProcesses neighbours(5);
  ProcessClock clock(process.id());
  tick_until(clock, [&] { return clock.reading().wall > seconds(3); });
  EXPECT_GT(clock.reading().had, milliseconds(1500));
}

TEST(ProcessClock, StandsStillWhileAProcessIsStopped) {
  const Forked process(burn);
  kill(process.id(), SIGSTOP);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(process.id()), &info, WSTOPPED | WNOWAIT);
  ProcessClock clock(process.id());
  tick_until(clock, [&] { return clock.reading().wall > seconds(2); });
  EXPECT_LT(clock.reading().had, kSlack);
  EXPECT_GT(clock.reading().stopped, seconds(1));
  kill(process.id(), SIGCONT);
  tick_until(clock, [&] { return cpu_time(process.id()) > milliseconds(1500); });
  EXPECT_EQ(clock.reading().stopped, Duration(0));
  EXPECT_GT(clock.reading().had, milliseconds(500));
}

TEST(ProcessClock, StandsStillWhileTheWatcherItselfDoesNotRun) {
  const Forked process(sleep_for_ever);
  ProcessClock clock(process.id());
  tick_until(clock, [&] { return clock.reading().had > milliseconds(300); });
  const Duration before = clock.reading().had;
  std::this_thread::sleep_for(seconds(2));  // as if it was stopped
  clock.tick();
  EXPECT_LE(clock.reading().had - before, milliseconds(500));
}

TEST(ProcessClock, ThreadsThatWaitForEachOtherHaveTheTimeOfAllCpus) {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  const int cpus = CPU_COUNT(&allowed);
  const Forked process([&] {
    sched_setaffinity(0, sizeof allowed, &allowed);
    for (int i = 1; i < 4 * cpus; ++i) std::thread(burn).detach();
    burn();
  });
  ProcessClock clock(process.id());
  const Duration ran = cpus * milliseconds(1500);
  tick_until(clock, [&] { return cpu_time(process.id()) > ran; });
  EXPECT_GT(clock.reading().had, milliseconds(900));
}

TEST(ProcessClock, OfAProcessThatIsGoneItIsAPlainClock) {
  pid_t id = 0;
  {
    const Forked process(burn);
    id = process.id();
  }
  ProcessClock clock(id);
  tick_until(clock, [&] { return clock.reading().wall > seconds(1); });
  EXPECT_GT(clock.reading().had, milliseconds(700));
}

TEST(TimeLimit, TellsWhyAProcessIsLate) {
  using State = TimeLimit::State;
  const ProcessClock::Reading from{seconds(5), seconds(50), seconds(0)};
  const TimeLimit limit(from, 2.0);
  const auto later = [&](seconds had, seconds wall, seconds stopped) {
    return limit.at({from.had + had, from.wall + wall, stopped});
  };
  EXPECT_EQ(later(seconds(2), seconds(2), seconds(0)), State::within);
  EXPECT_EQ(later(seconds(3), seconds(3), seconds(0)), State::passed);
  EXPECT_EQ(later(seconds(1), seconds(39), seconds(0)), State::within);
  EXPECT_EQ(later(seconds(1), seconds(43), seconds(0)), State::overloaded);
  EXPECT_EQ(later(seconds(1), seconds(15), seconds(11)), State::stopped);
}

}  // namespace
}  // namespace fusesmith::backends
