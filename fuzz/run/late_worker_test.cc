// Time limits of workers: what a busy machine, a signal that stops a worker, or a killed compilation must not
// make of a case.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <thread>

#include "backends/remote/process_clock_test.h"
#include "backends/remote/remote_backend.h"
#include "backends/remote/worker_names.h"
#include "fuzz/cli/test_support.h"
#include "fuzz/run/backends.h"
#include "fuzz/run/judging.h"

namespace fusesmith::fuzz {
namespace {

Verdict judge_with(const std::string& fault, double seconds) {
  JudgeFlags flags;
  flags.baseline = "cpu";
  flags.candidate = std::string("remote:python3 '") + FUSESMITH_SOURCE_DIR +
                    "/python/tests/workers/faulty_worker.py' " + fault;
  allow_worker(flags.candidate);
  flags.compile_timeout = flags.run_timeout = seconds;
  Judging judging(flags);
  judging.why_not.clear();
  const Case test_case = *parse_case(R"({"fusesmith": 1, "graph": {
    "inputs": [{"name": "x", "type": "f32[4,8]", "fill": {"normal": {}}}],
    "nodes": [{"name": "r", "op": "relu", "inputs": ["x"]}], "outputs": ["r"]}})");
  const Verdict verdict = judging.run(test_case).verdict;
  end_idle_workers(*find_backend(flags.candidate));
  return verdict;
}

// The worker needs 2 s of a CPU that seven others want, too.
TEST(LateWorker, ABusyMachineMakesNoTimeout) {
  std::thread([] {
    use_first_cpu();
    const BusyProcesses neighbours(7);
    const auto begun = std::chrono::steady_clock::now();
    const Verdict verdict = judge_with("burns_at_compile", 5);
    EXPECT_EQ(name(verdict.verdict), "identical") << verdict.reason;
    EXPECT_GT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(6)) << "nothing was shown";
  }).join();
}

TEST(LateWorker, AWorkerThatComputesForTooLongIsLate) {
  const Verdict verdict = judge_with("burns_at_compile", 1);
  EXPECT_EQ(name(verdict.verdict), "timeout") << verdict.reason;
  EXPECT_TRUE(verdict.finding);
}

TEST(LateWorker, AStoppedWorkerSaysNothingOfTheCase) {
  const Verdict verdict = judge_with("stops_at_compile", 3);
  EXPECT_EQ(name(verdict.verdict), "overloaded") << verdict.reason;
  EXPECT_FALSE(verdict.finding);
  EXPECT_NE(verdict.reason.find("stopped by a signal"), std::string::npos) << verdict.reason;
}

TEST(LateWorker, EachWorkerHasACompilationCacheOfItsOwn) {
  const TemporaryFolder folder;
  const char* before = getenv("TMPDIR");
  const std::string restored = before ? before : "";
  setenv("TMPDIR", folder.string().c_str(), 1);
  for (int i = 0; i < 2; ++i) {
    const Verdict verdict = judge_with("leaves_half_a_file", 2);
    EXPECT_EQ(name(verdict.verdict), "timeout") << verdict.reason;
    EXPECT_TRUE(std::filesystem::is_empty(folder.string())) << "a cache is left";
  }
  if (before)
    setenv("TMPDIR", restored.c_str(), 1);
  else
    unsetenv("TMPDIR");
}

}  // namespace
}  // namespace fusesmith::fuzz
