// Campaigns whose processes are stopped, or whose workers are late once: no finding, and no campaign that
// stands still. Runs the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fuzz/campaign/supervision_test.h"
#include "fuzz/cli/stand_in_script.h"

namespace fusesmith::fuzz {
namespace {

using testing::HasSubstr;

// Functions of the shell: all processes that descend from one; those of them that judge cases.
constexpr const char* kShell = R"sh(
below() { for c in $(cat /proc/$1/task/*/children 2>/dev/null); do echo $c; below $c; done; }
judging() {
  for p in $(below $1); do
    [ "$(tr '\0' ' ' < /proc/$p/cmdline | cut -d' ' -f2)" = campaign-worker ] && echo $p
  done
}
)sh";

std::string faulty(const std::string& fault) {
  return std::string(" --candidate=\"remote:python3 '") + FUSESMITH_SOURCE_DIR +
         "/python/tests/workers/faulty_worker.py' " + fault + "\" --runs=1 --jobs=1 cases ";
}

// Campaigns of three cases that the worker computes, and one that it does not.
class WithCases : public Supervision {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b", "c"}) folder_.file(std::string("cases/") + name + ".json", kReluCase);
  }
};

// At moments that differ: most are between cases, or in the middle of one.
TEST_F(Supervision, AStoppedWorkerIsReplaced) {
  ASSERT_EQ(fuzz("--runs=600 --jobs=2", "whole"), kClean) << err();
  const std::string stop_workers =
      "& S=$!; until [ \"$(judging $S)\" ] || ! kill -0 $S; do sleep 0.1; done; for i in 1 2 3; do "
      "sleep 0.$((i * 3)); kill -STOP $(judging $S | tail -n 1); sleep 12; done; wait $S";
  ASSERT_EQ(fuzz("--runs=600 --jobs=2", "w", kShell, stop_workers), kClean) << err();
  EXPECT_EQ(counts("w"), counts("whole"));
  EXPECT_GT(stats("w")["status"]["worker_restarts"], 0) << "no worker was stopped in time";
}

TEST_F(WithCases, ASuspendedJobHasNoFindings) {
  const std::string suspend =
      "& S=$!; while [ ! -e w/stats.json ]; do sleep 0.1; done; for i in 1 2; do sleep 1; A=\"$S $(below "
      "$S)\"; "
      "kill -STOP $A; sleep 10; kill -CONT $A; done; wait $S";
  EXPECT_EQ(fuzz(faulty("burns_at_compile") + "--timeout=6 --compile_timeout=6", "w", kShell, suspend),
            kClean)
      << err();
  EXPECT_EQ(stats()["cases"], 4);
  EXPECT_EQ(stats()["status"]["worker_restarts"], 0) << "no worker was given up";
}

TEST_F(WithCases, ATimeoutThatDoesNotComeAgainIsNoFinding) {
  for (const std::string fault : {"hangs_once", "stops_once"}) {
    std::filesystem::remove_all(folder_ / "not-the-first");
    EXPECT_EQ(fuzz(faulty(fault) + "--compile_timeout=3", fault, "TMPDIR=\"$PWD\""), kClean) << err();
    EXPECT_EQ(stats(fault)["cases"], 4);
    EXPECT_EQ(stats(fault)["verdicts"].value("timeout", 0), 0);
    EXPECT_EQ(stats(fault)["verdicts"].value("overloaded", 0), 0);
    EXPECT_TRUE(std::filesystem::exists(folder_ / "not-the-first")) << "the worker was not late";
    for (const auto& entry : std::filesystem::directory_iterator(folder_.string()))
      EXPECT_THAT(entry.path().filename().string(), testing::Not(HasSubstr("fusesmith-cache"))) << "is left";
  }
}

}  // namespace
}  // namespace fusesmith::fuzz
