// Signals at any moment of a command, from its first instruction on: none is lost, and none ends it otherwise
// than with 72 or 75. Runs the program.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <random>
#include <thread>

#include "fuzz/cli/test_support.h"
#include "fuzz/generate/generator.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): not every libc declares it

namespace fusesmith::fuzz {
namespace {

using std::chrono::milliseconds;

// The program, with signals blocked until it handles them, so that one which comes before main() waits for
// it.
class Started {
 public:
  explicit Started(std::vector<std::string> words, const TemporaryFolder& folder) {
    words.insert(words.begin(), program());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    const std::string out = folder / "out", err = folder / "err";
    for (const auto& [descriptor, path] : {std::pair(1, out), std::pair(2, err)})
      posix_spawn_file_actions_addopen(&actions, descriptor, path.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                       0600);
    sigset_t blocked, all;
    sigemptyset(&blocked);
    sigfillset(&all);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU}) sigaddset(&blocked, signal);
    posix_spawnattr_setsigmask(&attributes, &blocked);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    EXPECT_EQ(posix_spawn(&id_, pointers[0], &actions, &attributes, pointers.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }

  // How it ended: an exit code, or less than 0.
  int after(milliseconds time, int signal) {
    std::this_thread::sleep_for(time);
    kill(id_, signal);
    int status = 0;
    waitpid(id_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t id_ = 0;
};

class EarlySignals : public testing::Test {
 protected:
  // At the first instruction, and at two random moments of what it does first.
  void expect(const std::vector<std::string>& words, std::initializer_list<int> signals, int code) {
    for (const int signal : signals) {
      for (int i = 0; i < 3; ++i) {
        const milliseconds moment(i == 0 ? 0 : std::uniform_int_distribution<int>(0, 1500)(random_));
        EXPECT_EQ(Started(words, folder_).after(moment, signal), code)
            << strsignal(signal) << " after " << moment.count() << " ms\n"
            << *read_file(folder_ / "err");
      }
    }
  }

  const TemporaryFolder folder_;
  std::mt19937 random_{34};
};

TEST_F(EarlySignals, OfACampaign) {
  const std::vector<std::string> words = {"fuzz", "--baseline=cpu", "--candidate=cpu_fused", "--jobs=1",
                                          "--workdir=" + (folder_ / "w")};
  expect(words, {SIGINT, SIGTERM, SIGHUP}, kInterrupted);
  expect(words, {SIGUSR1, SIGUSR2, SIGXCPU}, kPreempted);
}

// Most of the first seconds goes into reading it.
TEST_F(EarlySignals, OfACampaignWithALargeWorkDirectory) {
  const std::vector<std::string> words = {"fuzz",     "--baseline=cpu",      "--candidate=cpu_fused",
                                          "--jobs=1", "--total_runs=100000", "--workdir=" + (folder_ / "w")};
  ASSERT_EQ(Started(words, folder_).after(milliseconds(2000), SIGTERM), kInterrupted);
  const std::string text = to_json(generate_case(5, 0, 7));
  for (int i = 0; i < 1500; ++i) {
    const std::string at = "w/findings/defect-cpu_fused-sdpa-f16-made_" + std::to_string(i) + "/";
    for (const char* file : {"case.json", "min.json"}) folder_.file(at + file, text);
    folder_.file(at + "verdict.json", "{}");
    folder_.file(at + "report.md", "`x/min.json`\n</details>\n");
  }
  expect(words, {SIGINT, SIGTERM}, kInterrupted);
  expect(words, {SIGUSR1}, kPreempted);
}

// Other commands cannot go on later; they are interrupted.
TEST_F(EarlySignals, OfOtherCommands) {
  const std::vector<std::string> words = {"generate", "--count=10000000", "--output=" + (folder_ / "g")};
  expect(words, {SIGINT, SIGHUP, SIGUSR1, SIGXCPU}, kInterrupted);
}

}  // namespace
}  // namespace fusesmith::fuzz
