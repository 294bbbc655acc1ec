// Which processes are ended: those that hang, and those that are stopped; none that only has to wait for a
// CPU.
#include "fuzz/supervisor/stage_watch.h"

#include <gtest/gtest.h>
#include <time.h>

#include <functional>
#include <thread>

#include "backends/remote/process_clock_test.h"

namespace fusesmith::fuzz {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = WorkerEnding::Kind;

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::optional<WorkerEnding> watch(Journal& journal, pid_t process, const std::function<bool()>& done) {
  ProcessClock clock(process);
  StageWatch stages(journal, clock);
  while (!done()) {
    if (auto ending = stages.look()) return ending;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return {};
}

class StageWatchTest : public testing::Test {
 protected:
  const std::unique_ptr<Journal> journal_ = Journal::make(2);
};

TEST_F(StageWatchTest, AStageThatSleepsForTooLongIsLate) {
  const Forked process(sleep_for_ever);
  const BusyProcesses neighbours(3);
  journal_->slot(1).begin_case(1000);
  const auto ending = watch(*journal_, process.id(), [&] {
    journal_->beat();
    return false;
  });
  EXPECT_EQ(ending->kind, Kind::timed_out);
  EXPECT_EQ(ending->how, "was not ready within 1 s");
}

TEST_F(StageWatchTest, AStageThatWaitsForACpuIsNotLate) {
  const auto begun = std::chrono::steady_clock::now();
  const BusyProcesses neighbours(7);
  journal_->slot(0).begin_case(4000);
  const Forked process([&] {
    while (cpu_seconds() < 1.5) {
    }
    journal_->slot(0).end_case();
    sleep_for_ever();
  });
  const auto ending = watch(*journal_, process.id(), [&] {
    journal_->beat();
    return journal_->slot(0).since == 0;
  });
  EXPECT_FALSE(ending) << ending->how;
  EXPECT_GT(std::chrono::steady_clock::now() - begun, seconds(5)) << "nothing was shown";
}

// Between two stages, as well as in one.
TEST_F(StageWatchTest, AStoppedProcessIsGivenUpWhereverItIs) {
  for (const bool at_work : {false, true}) {
    const Forked process(burn);
    kill(process.id(), SIGSTOP);
    if (at_work) journal_->slot(0).begin_case(3000);
    const auto ending = watch(*journal_, process.id(), [] { return false; });
    EXPECT_EQ(ending->kind, Kind::stopped) << ending->how;
    EXPECT_EQ(ending->how, "was stopped by a signal for 10 s");
  }
}

TEST_F(StageWatchTest, SilenceBetweenStagesIsNoticed) {
  const Forked process(sleep_for_ever);
  const auto ending = watch(*journal_, process.id(), [] { return false; });
  EXPECT_EQ(ending->kind, Kind::stopped);
  EXPECT_EQ(ending->how, "showed no sign of life for 30 s");
}

TEST_F(StageWatchTest, AProcessThatBeatsMayWaitForItsNextCase) {
  const Forked process(sleep_for_ever);
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_FALSE(watch(*journal_, process.id(), [&] {
    journal_->beat();
    return std::chrono::steady_clock::now() - begun > seconds(2);
  }));
}

}  // namespace
}  // namespace fusesmith::fuzz
