// How processes start and end, and that nothing which they started stays.
#include "backends/remote/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "backends/remote/process_tree.h"

namespace fusesmith::backends {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::unique_ptr<ChildProcess> shell(const std::string& command) {
  auto child = ChildProcess::start({"sh", "-c", command});
  EXPECT_TRUE(child.ok());
  return std::move(*child);
}

// A line with the id of a process.
pid_t read_id(ChildProcess& child) {
  std::string line;
  for (char c = 0; c != '\n'; line += c) {
    const TimeLimit limit = child.limit_from_now(60);
    if (child.read(std::as_writable_bytes(std::span(&c, 1)), limit) != ChildProcess::Io::done) return 0;
  }
  return std::stoi(line);
}

bool is_gone(pid_t id) {
  for (const ProcessEntry& process : all_processes()) {
    if (process.id == id) return process.zombie;
  }
  return true;
}

pid_t parent_of(pid_t id) {
  for (const ProcessEntry& process : all_processes()) {
    if (process.id == id) return process.parent;
  }
  return 0;
}

bool is_soon_gone(pid_t id) {
  for (int i = 0; i < 500 && !is_gone(id); ++i) std::this_thread::sleep_for(milliseconds(10));
  return is_gone(id);
}

// Started by the command: in a session of its own, deaf to what may be ignored.
const std::string kStray =
    "trap '' TERM INT HUP; setsid sh -c 'echo $$; exec >/dev/null; while :; do sleep 1; done' & ";

TEST(ChildProcess, TellsHowItEnded) {
  const auto code = shell("exit 3");
  ASSERT_TRUE(code->ended_within(seconds(60)));
  EXPECT_EQ(code->how_it_ended(), "exit code 3");
  EXPECT_EQ(code->ending_signal(), 0);
  const auto signal = shell("kill -ABRT $$");
  ASSERT_TRUE(signal->ended_within(seconds(60)));
  EXPECT_TRUE(signal->how_it_ended().starts_with("signal 6 ")) << signal->how_it_ended();
  EXPECT_EQ(signal->ending_signal(), SIGABRT);
  const auto running = shell("sleep 1000");
  EXPECT_FALSE(running->ended_within(milliseconds(10)));
  running->terminate();
  ASSERT_TRUE(running->ended_within(seconds(60)));
  EXPECT_EQ(running->ending_signal(), SIGTERM);
}

// As a shell starts programs after `trap '' CHLD`.
TEST(ChildProcess, TellsHowItEndedWhereSigchldWasIgnored) {
  auto* const before = std::signal(SIGCHLD, SIG_IGN);
  const auto child = shell("exit 3");
  ASSERT_TRUE(child->ended_within(seconds(60)));
  EXPECT_EQ(child->how_it_ended(), "exit code 3");
  EXPECT_TRUE(child->kill()) << "its guardian is not seen to end";
  std::signal(SIGCHLD, before);
}

TEST(ChildProcess, WhatCannotStartIsAProblem) {
  const auto child = ChildProcess::start({"/no/such/program"});
  ASSERT_FALSE(child.ok());
  EXPECT_EQ(child.problem(), "cannot start '/no/such/program': No such file or directory");
}

TEST(ChildProcess, HasItsDescriptorsAndVariables) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  auto child = ChildProcess::start({"sh", "-c", "echo $WORD >&3"}, {ends[1]}, {{"WORD", "seven"}});
  ASSERT_TRUE(child.ok());
  char text[7] = {};
  ASSERT_EQ(read(ends[0], text, 6), 6);
  EXPECT_STREQ(text, "seven\n");
  close(ends[0]);
  close(ends[1]);
}

TEST(ChildProcess, NothingStaysOfAProcessThatEnds) {
  const auto child = shell(kStray + "sleep 0.2");
  const pid_t stray = read_id(*child);
  ASSERT_TRUE(child->ended_within(seconds(60)));
  EXPECT_TRUE(is_soon_gone(stray));
}

TEST(ChildProcess, NothingStaysOfAProcessThatIsKilled) {
  const auto child = shell(kStray + "wait");
  const pid_t stray = read_id(*child), id = child->id();
  kill(id, SIGSTOP);
  EXPECT_TRUE(child->kill());
  EXPECT_TRUE(is_gone(id));
  EXPECT_TRUE(is_gone(stray));
}

TEST(ChildProcess, NothingStaysOfAGuardianThatIsKilled) {
  const auto child = shell(kStray + "while :; do :; done");
  const pid_t stray = read_id(*child), id = child->id(), guardian = parent_of(id);
  ASSERT_NE(guardian, getpid());
  ASSERT_NE(guardian, 0);
  kill(guardian, SIGKILL);
  ASSERT_TRUE(child->ended_within(seconds(60)));
  EXPECT_EQ(child->ending_signal(), SIGKILL);
  EXPECT_TRUE(is_soon_gone(id));
  EXPECT_TRUE(is_soon_gone(stray));
}

TEST(ChildProcess, NothingStaysOfAGuardianThatIsStopped) {
  const auto child = shell(kStray + "while :; do :; done");
  const pid_t stray = read_id(*child), id = child->id();
  kill(parent_of(id), SIGSTOP);
  EXPECT_TRUE(child->kill());
  EXPECT_TRUE(is_gone(id));
  EXPECT_TRUE(is_gone(stray));
}

// Without descriptors, it does not see what is left, and must not take that for nothing.
TEST(ChildProcess, AGuardianThatCannotReadProcStaysUntilItCan) {
  const auto child = shell(kStray + "sleep 0.2");
  const pid_t stray = read_id(*child), guardian = parent_of(child->id());
  rlimit limit{}, none{0, 0};
  ASSERT_EQ(prlimit(guardian, RLIMIT_NOFILE, nullptr, &limit), 0);
  none.rlim_max = limit.rlim_max;
  ASSERT_EQ(prlimit(guardian, RLIMIT_NOFILE, &none, nullptr), 0);
  ASSERT_TRUE(child->ended_within(seconds(60)));
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_FALSE(is_gone(stray)) << "it cannot be seen";
  ASSERT_EQ(prlimit(guardian, RLIMIT_NOFILE, &limit, nullptr), 0) << "it has ended";
  EXPECT_TRUE(is_soon_gone(stray));
}

// As a process that starts workers: two levels, the upper one of which is killed.
TEST(ChildProcess, NothingStaysOfAParentThatIsKilled) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    const auto child = shell(kStray + "while :; do :; done");
    const pid_t ids[] = {read_id(*child), child->id()};
    [[maybe_unused]] const ssize_t written = write(ends[1], ids, sizeof ids);
    pause();
    _exit(0);
  }
  pid_t ids[2] = {};
  ASSERT_EQ(read(ends[0], ids, sizeof ids), static_cast<ssize_t>(sizeof ids));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  for (const pid_t id : ids) EXPECT_TRUE(is_soon_gone(id));
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace fusesmith::backends
