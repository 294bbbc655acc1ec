// Worker processes of a campaign: what ends, blocks or fills one of them becomes a verdict on the case that
// did it, and nothing else changes. Runs the program, because the supervisor starts itself as a worker.
#include "fuzz/campaign/supervision_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "graph/case.h"
#include "graph/sanitizers.h"

namespace fusesmith::fuzz {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST_F(Supervision, SameCountsForAnyProcesses) {
  ASSERT_EQ(fuzz("--runs=60 --jobs=1 --processes=0", "here"), kClean) << err();
  for (const char* flags : {"--jobs=1", "--jobs=3", "--jobs=2 --processes=2"}) {
    ASSERT_EQ(fuzz(std::string("--runs=60 ") + flags, "w"), kClean) << flags << err();
    EXPECT_EQ(counts("w"), counts("here")) << flags;
    std::filesystem::remove_all(folder_ / "w");
  }
}

TEST_F(SupervisionWithFaults, ACaseThatEndsItsProcessIsAFinding) {
  const std::pair<const char*, const char*> ways[] = {
      {"process_segfault", "signal 11"}, {"process_abort", "signal 6"},
      {"process_fpe", "signal 8"},       {"process_exit", "exit code 3"},
      {"process_quits", "exit code 0"},  {"process_stack_overflow", "ended with"}};
  nlohmann::json wanted;
  for (const auto& [fault, how] : ways) {
    const std::string workdir = fault;
    ASSERT_EQ(fuzz("--runs=30 --jobs=2 --minimize=0 --faults=" + workdir, workdir), kFindings) << err();
    const nlohmann::json json = stats(workdir);
    EXPECT_EQ(json["cases"], 30) << "the campaign went on";
    EXPECT_GT(json["verdicts"]["crash"], 0);
    if (wanted.is_null()) wanted = json["verdicts"];
    EXPECT_EQ(json["verdicts"], wanted) << fault;
    for (const auto& [signature, count] : json["findings"].items()) {
      EXPECT_THAT(signature, StartsWith("crash-cpu_fused-"));
      EXPECT_THAT(signature, EndsWith("-any-died"));
      const std::string at = folder_ / (workdir + "/findings/" + signature);
      EXPECT_THAT(*read_file(at + "/report.md"), HasSubstr(how)) << fault;
      EXPECT_TRUE(read_case_file(at + "/case.json").ok());
    }
  }
}

TEST_F(SupervisionWithFaults, TheMinimizerSurvivesWhatEndsProcesses) {
  ASSERT_EQ(fuzz("--runs=10 --jobs=1 --faults=process_segfault"), kFindings) << err();
  const std::string at = folder_ / "w/findings/crash-cpu_fused-graph-any-died";
  const auto min = read_case_file(at + "/min.json");
  ASSERT_TRUE(min.ok()) << min.problem();
  EXPECT_LE(min->graph.nodes().size(), 2U);
  EXPECT_THAT(*read_file(at + "/report.md"), HasSubstr(" on cpu_fused: the process ended"));
}

TEST_F(SupervisionWithFaults, CountsDoNotDependOnWhoCrashedBesideWhom) {
  ASSERT_EQ(fuzz("--runs=60 --jobs=1 --minimize=0 --faults=process_segfault", "one"), kFindings) << err();
  ASSERT_EQ(fuzz("--runs=60 --jobs=4 --processes=2 --minimize=0 --faults=process_segfault", "four"),
            kFindings);
  EXPECT_EQ(counts("four"), counts("one"));
}

// What the supervisor reads of a worker is not to be trusted while a kernel may have written there.
TEST_F(SupervisionWithFaults, AKernelThatWritesWhereItsWorkerAnswersIsAFinding) {
  // The sanitizer reserves terabytes of addresses.
  const std::string limit = FUSESMITH_ADDRESS_SANITIZER ? "" : "ulimit -v 16000000;";
  for (const std::string fault : {"process_writes_to_socket", "process_writes_over_journal"}) {
    // The socket is that of the first thread. With two, it may have had its last case before.
    ASSERT_EQ(fuzz("--runs=8 --jobs=1 --minimize=0 --faults=" + fault, fault, limit), kFindings) << err();
    EXPECT_EQ(stats(fault)["cases"], 8) << "the campaign went on";
    EXPECT_GT(stats(fault)["verdicts"]["crash"], 0);
    EXPECT_TRUE(stats(fault)["findings"].contains("crash-cpu_fused-graph-any-died"));
  }
  ASSERT_EQ(fuzz("--runs=8 --jobs=2 --minimize=0 --faults=process_cuts_off_journal"), kClean) << err();
  EXPECT_EQ(stats()["cases"], 8) << "it is sealed";
}

TEST_F(SupervisionWithFaults, ACaseThatHangsIsATimeout) {
  for (const std::string fault : {"process_spins", "process_deadlock"}) {
    ASSERT_EQ(fuzz("--runs=8 --jobs=2 --minimize=0 --timeout=1 --faults=" + fault, fault), kFindings)
        << err();
    EXPECT_EQ(stats(fault)["cases"], 8);
    EXPECT_GT(stats(fault)["verdicts"]["timeout"], 0);
  }
}

TEST_F(SupervisionWithFaults, ACaseThatNeedsTooMuchMemoryIsCounted) {
  if (FUSESMITH_ADDRESS_SANITIZER) GTEST_SKIP() << "the sanitizer keeps memory that was freed";
  ASSERT_EQ(fuzz("--runs=8 --jobs=1 --rss_limit_mb=600 --faults=process_fills_memory"), kClean) << err();
  EXPECT_EQ(stats()["cases"], 8);
  EXPECT_GT(stats()["verdicts"]["out_of_memory"], 0);
}

TEST_F(Supervision, WhatAWorkerStartsCountsAsItsMemory) {
  folder_.file("cases/0.json", R"({"fusesmith": 1, "graph": {
    "inputs": [{"name": "x", "type": "f32[2,3]", "fill": {"normal": {}}}],
    "nodes": [{"name": "y", "op": "relu", "inputs": ["x"]}], "outputs": ["y"]}})");
  EXPECT_EQ(run_shell("cd '" + folder_.string() + "'; $P fuzz --baseline=cpu --candidate=\"remote:python3 '" +
                          FUSESMITH_SOURCE_DIR +
                          "/python/tests/workers/faulty_worker.py' starts_a_large_process\"" +
                          " --jobs=1 --total_runs=1 --minimize=0 --rss_limit_mb=600 --run_timeout=5m cases",
                      folder_),
            kClean)
      << err();
  EXPECT_EQ(stats("fusesmith-work")["verdicts"]["out_of_memory"], 1);
}

TEST_F(SupervisionWithFaults, ASignalEndsACampaignThatHangs) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(fuzz("--runs=30 --jobs=1 --faults=process_spins", "w", "",
                 "& S=$!; while [ ! -e w/stats.json ]; do sleep 0.1; done; sleep 1; kill -TERM $S; wait $S"),
            kInterrupted)
      << err();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30))
      << "less than one case may hang";
  EXPECT_THAT(err(), HasSubstr("interrupted: finishing 1 case, then saving; nothing is lost"));
  EXPECT_LT(stats()["cases"], 30);
}

TEST_F(Supervision, APreemptedCampaignSaves) {
  for (const std::string signal : {"USR1", "USR2", "XCPU"}) {
    EXPECT_EQ(fuzz("--jobs=1", signal, "",
                   "& S=$!; while [ ! -e " + signal + "/stats.json ]; do sleep 0.1; done; kill -" + signal +
                       " $S; wait $S"),
              kPreempted)
        << signal << err();
    EXPECT_GT(stats(signal)["cases"], 0);
    EXPECT_EQ(stats(signal)["cases"], stats(signal)["next_counter"]);
  }
}

TEST_F(Supervision, ASignalAboutAFileIsIgnored) {
  EXPECT_EQ(
      fuzz("--runs=100 --jobs=1", "w", "",
           "& S=$!; while [ ! -e w/.lease ]; do sleep 0.1; done; kill -XFSZ $S; kill -PIPE $S; wait $S"),
      kClean)
      << err();
  EXPECT_EQ(stats()["cases"], 100);
}

// Of the supervisor with its worker, and of the worker alone.
TEST_F(Supervision, CountsAreThoseOfAnUninterruptedCampaign) {
  ASSERT_EQ(fuzz("--runs=300 --jobs=2", "whole"), kClean) << err();
  const std::string kill_worker =
      "& S=$!; for i in 1 2 3; do sleep 0.3; kill -9 $(cat /proc/$S/task/*/children); done; wait $S";
  ASSERT_EQ(fuzz("--runs=300 --jobs=2", "w", "", kill_worker), kClean) << err();
  EXPECT_EQ(counts("w"), counts("whole"));

  fuzz("--runs=300 --jobs=2", "k", "",
       "& S=$!; while [ ! -e k/stats.json ]; do sleep 0.1; done; kill -9 $S; wait $S");
  const int64_t done = stats("k")["next_counter"];
  if (done < 300) {
    ASSERT_EQ(fuzz("--jobs=1 --runs=" + std::to_string(300 - done), "k"), kClean) << err();
  }
  EXPECT_EQ(counts("k"), counts("whole"));
}

TEST_F(Supervision, ASecondCampaignIsRefusedInOneLine) {
  EXPECT_EQ(
      fuzz("--jobs=1", "w", "",
           "2>first & S=$!; while [ ! -e w/stats.json ]; do sleep 0.1; done; $P fuzz --workdir=w --seed=9; "
           "R=$?; kill $S; wait $S; exit $R"),
      kUsage);
  EXPECT_TRUE(is_one_line(err())) << err();
  EXPECT_THAT(err(), HasSubstr("another process is at work there"));
}

TEST_F(Supervision, ASecondCampaignMayWait) {
  EXPECT_EQ(fuzz("--jobs=1 --max_total_time=4", "w", "",
                 "2>first & S=$!; while [ ! -e w/stats.json ]; do sleep 0.1; done; "
                 "$P fuzz --workdir=w --seed=9 --jobs=1 --runs=1 --wait_for_workdir=2m; R=$?; "
                 "kill -0 $S && R=9; wait $S; exit $R"),
            kClean)
      << err();
  EXPECT_THAT(err(), HasSubstr("resuming the campaign"));
}

TEST_F(Supervision, AReaderWhoStoppedReadingBlocksNothing) {
  const std::string full = "mkfifo f; exec 3<>f; head -c 65536 /dev/zero >&3; timeout 100";
  EXPECT_EQ(fuzz("--runs=20 --jobs=1", "w", full, "2>f"), kClean);
  EXPECT_EQ(stats()["cases"], 20);
}

TEST_F(SupervisionWithFaults, CommandsOfAReportQuoteTheProgram) {
  ASSERT_EQ(run_shell("cd '" + folder_.string() +
                          "'; ln -s \"$P\" 'a b'; './a b' fuzz --baseline=cpu "
                          "--candidate=cpu_fused --seed=9 --runs=10 --minimize=0 --workdir='my w' "
                          "--faults=process_segfault",
                      folder_),
            kFindings)
      << err();
  const std::string report = *read_file(folder_ / "my w/findings/crash-cpu_fused-graph-any-died/report.md");
  EXPECT_THAT(report, HasSubstr("'./a b' replay 'my w/findings/"));
  EXPECT_THAT(report, testing::Not(HasSubstr("\n./a b")));
}

TEST_F(Supervision, AClosedStandardOutputIsAnError) {
  EXPECT_EQ(fuzz("--runs=5 --jobs=1", "w", "", ">&-"), kCannotWrite);
  EXPECT_EQ(*read_file(folder_ / "w/.lock"), "");
}

TEST_F(Supervision, LimitsOfFilesAreErrorsOfWriting) {
  EXPECT_EQ(fuzz("--runs=200 --jobs=1", "w", "ulimit -f 4;"), kCannotWrite) << err();
  const std::string whatsup = "cd '" + folder_.string() + "'; $P whatsup --json w | grep '\"state\": ";
  EXPECT_EQ(run_shell(whatsup + "\"failed\"'", folder_), 0) << out() << err();
  EXPECT_EQ(fuzz("--runs=5 --jobs=1", "w"), kClean) << "it goes on where it stopped: " << err();
  EXPECT_EQ(run_shell(whatsup + "\"ended\"'", folder_), 0) << out() << err();
}

}  // namespace
}  // namespace fusesmith::fuzz
