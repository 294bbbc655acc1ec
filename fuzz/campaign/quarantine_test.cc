// Campaigns on several GPUs, some of which fail. No GPU is needed: the names are planted, and a fault of the
// process does what a failing GPU does.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <thread>
#include <utility>

#include "fuzz/campaign/supervision_test.h"

namespace fusesmith::fuzz {
namespace {

using testing::HasSubstr;
using testing::Not;

// What a sandbox may forbid, and process_stuck_on_sick_gpu needs.
bool may_trace() {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const bool traced = ptrace(PTRACE_SEIZE, child, nullptr, nullptr) == 0;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return traced;
}

// Traces the processes that write their ids to a pipe, as long as it lives.
class Tracer {
 public:
  explicit Tracer(const std::string& path) {
    if (mkfifo(path.c_str(), 0600) != 0) ADD_FAILURE() << path;
    setenv("FUSESMITH_TRACER", path.c_str(), 1);
    thread_ = std::jthread([path](const std::stop_token& stop) {
      const int ids = open(path.c_str(), O_RDWR | O_CLOEXEC);  // so that it has no end
      std::string text;
      while (!stop.stop_requested()) {
        pollfd polled{ids, POLLIN, 0};
        char c = 0;
        if (poll(&polled, 1, 50) <= 0 || read(ids, &c, 1) != 1) continue;
        if (c != '\n')
          text += c;
        else
          ptrace(PTRACE_SEIZE, std::stoi(std::exchange(text, "")), nullptr, nullptr);
      }
      close(ids);
    });
  }
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer() { unsetenv("FUSESMITH_TRACER"); }

 private:
  std::jthread thread_;
};

class Quarantine : public SupervisionWithFaults {
 protected:
  int fuzz_on(const std::string& gpus, const std::string& flags, const std::string& workdir = "w") {
    return fuzz("--minimize=0 " + flags, workdir, "export FUSESMITH_PLANTED_GPUS=" + gpus + ";");
  }
  // Without the GPUs, of which there may be any number.
  nlohmann::json cases(const std::string& workdir) const {
    nlohmann::json json = counts(workdir);
    json.erase("gpus");
    return json;
  }
};

TEST_F(Quarantine, EveryGpuHasAProcess) {
  ASSERT_EQ(fuzz("--runs=60 --jobs=1", "whole"), kClean) << err();
  ASSERT_EQ(fuzz_on("GPU-a,GPU-b,GPU-c", "--gpus=all --runs=60 --jobs=2"), kClean) << err();
  EXPECT_EQ(stats()["gpus"].size(), 3U);
  EXPECT_EQ(cases("w"), cases("whole"));
  ASSERT_EQ(fuzz_on("GPU-a,GPU-b,GPU-c", "--gpus=1,GPU-c --runs=60 --jobs=4 --processes=4", "two"), kClean);
  EXPECT_EQ(stats("two")["gpus"],
            (nlohmann::json{{"GPU-b", {{"name", "planted GPU"}}}, {"GPU-c", {{"name", "planted GPU"}}}}));
  EXPECT_EQ(cases("two"), cases("whole"));
}

TEST_F(Quarantine, AGpuThatIsNotThereIsNamed) {
  EXPECT_EQ(fuzz_on("GPU-a", "--gpus=0,1 --runs=5"), kDeviceUnhealthy);
  EXPECT_TRUE(is_one_line(err())) << err();
  EXPECT_THAT(err(), HasSubstr("--gpus=1: there is no such GPU; there are 0 (GPU-a)"));
  EXPECT_EQ(fuzz_on("GPU-a", "--gpus=first --runs=5"), kUsage);
}

TEST_F(Quarantine, ACaseThatFailsTheDeviceIsAFinding) {
  const std::string flags = "--runs=90 --faults=process_loses_device --jobs=";
  ASSERT_EQ(fuzz_on("GPU-a,GPU-b", "--gpus=all " + flags + "4"), kFindings) << err();
  EXPECT_THAT(err(), Not(HasSubstr("not used any more")));
  const std::string signature = "crash-cpu_fused-graph-any-device_error";
  EXPECT_GT(stats()["verdicts"]["crash"], 10);
  EXPECT_EQ(stats()["verdicts"]["crash"], stats()["findings"][signature]);
  EXPECT_THAT(*read_file(folder_ / ("w/findings/" + signature + "/report.md")),
              HasSubstr("- GPU: planted GPU, GPU-a\n- GPU: planted GPU, GPU-b\n"));
  ASSERT_EQ(fuzz_on("", flags + "1", "one"), kFindings) << err();
  EXPECT_EQ(cases("w"), cases("one"));
}

TEST_F(Quarantine, AGpuThatFailsWithAnyCaseIsNotUsedAnyMore) {
  // As many as leave time for three failures, also on a busy machine.
  ASSERT_EQ(fuzz("--runs=800 --jobs=1", "whole"), kClean) << err();
  ASSERT_EQ(fuzz_on("GPU-a,GPU-sick,GPU-b", "--gpus=all --runs=800 --jobs=3 --faults=process_loses_sick_gpu"),
            kClean)
      << err();
  EXPECT_EQ(cases("w"), cases("whole")) << "no case is to blame";
  EXPECT_THAT(stats()["gpus"]["GPU-sick"]["quarantined"].get<std::string>(),
              HasSubstr("the device failed 3 times with cases that run alone without a failure"));
  EXPECT_FALSE(stats()["gpus"]["GPU-a"].contains("quarantined"));
  const std::string said = "GPU-sick (planted GPU) is not used any more";
  EXPECT_THAT(err(), HasSubstr(said));
  EXPECT_EQ(err().find(said), err().rfind(said)) << "once";
}

TEST_F(Quarantine, AProcessThatCannotBeEndedTakesItsGpuWithIt) {
  if (!may_trace()) GTEST_SKIP() << "processes may not trace others here";
  const Tracer tracer(folder_ / "tracer");
  ASSERT_EQ(fuzz_on("GPU-a,GPU-sick",
                    "--gpus=all --max_total_time=14 --jobs=2 --timeout=2 --faults=process_stuck_on_sick_gpu"),
            kClean)
      << err();
  EXPECT_THAT(stats()["gpus"]["GPU-sick"]["quarantined"].get<std::string>(), HasSubstr("does not end"));
  EXPECT_EQ(stats()["verdicts"]["timeout"], 0);
}

TEST_F(Quarantine, TheCampaignEndsWhereNoGpuIsLeft) {
  if (!may_trace()) GTEST_SKIP() << "processes may not trace others here";
  const Tracer tracer(folder_ / "tracer");
  EXPECT_EQ(
      fuzz_on("GPU-sick-1,GPU-sick-2", "--gpus=all --jobs=2 --timeout=2 --faults=process_stuck_on_sick_gpu"),
      kDeviceUnhealthy)
      << err();
  EXPECT_THAT(err(), HasSubstr("no GPU is left: GPU-sick-1: "));
  EXPECT_EQ(stats()["cases"], stats()["next_counter"]);
}

}  // namespace
}  // namespace fusesmith::fuzz
