#include "backends/remote/guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "backends/remote/process_tree.h"

namespace fusesmith::backends {
namespace {

using std::chrono::milliseconds;
using Kind = GuardianReport::Kind;

// In a process of one thread, so that the signal for the death of the parent comes with that of the process,
// and not with that of the thread which started it.
class Guardian {
 public:
  Guardian(int socket, char** command) : socket_(socket), command_(command) {}

  [[noreturn]] void serve() {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    fcntl(socket_, F_SETFD, FD_CLOEXEC);
    sigset_t all, ended;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    signals_ = signalfd(-1, &ended, SFD_CLOEXEC | SFD_NONBLOCK);
    parent_ = pidfd_of(getppid());
    if (const int error = start(); error != 0) {
      report(Kind::cannot, error);
      _exit(1);
    }
    leave_streams();
    report(Kind::started, command_id_);
    while (await()) {
    }
    end_all();
    _exit(0);
  }

 private:
  // -1 where the kernel has none: the end of the socket tells the same, unless a copy of its other end is
  // open.
  static int pidfd_of([[maybe_unused]] pid_t id) {
#ifdef SYS_pidfd_open
    return static_cast<int>(syscall(SYS_pidfd_open, id, 0));
#else
    return -1;
#endif
  }

  // Returns 0 or an errno.
  int start() {
    int told[2];
    if (signals_ < 0 || pipe2(told, O_CLOEXEC) != 0) return errno;
    const pid_t self = getpid();
    command_id_ = fork();
    if (command_id_ < 0) return errno;
    if (command_id_ == 0) become_command(self, told[1]);
    setpgid(command_id_, command_id_);  // here as well, so that it has happened
    close(told[1]);
    int error = 0;
    ssize_t count = 0;
    do count = read(told[0], &error, sizeof error);
    while (count < 0 && errno == EINTR);
    close(told[0]);
    return count == sizeof error ? error : 0;
  }

  [[noreturn]] void become_command(pid_t parent, int told) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execvp(command_[0], command_);
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(told, &error, sizeof error);
    _exit(1);
  }

  // So that the program alone holds them, and they end with it.
  void leave_streams() const {
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int descriptor = 0; descriptor < socket_; ++descriptor) {
      if (descriptor <= STDERR_FILENO && nothing >= 0)
        dup2(nothing, descriptor);
      else if (descriptor != signals_ && descriptor != parent_ && descriptor != nothing)
        close(descriptor);
    }
  }

  void report(Kind kind, int value) const {
    const GuardianReport report{kind, value};
    send(socket_, &report, sizeof report, MSG_NOSIGNAL);
  }

  // Until something happens; false if all is to end.
  bool await() {
    std::array<pollfd, 3> polled = {pollfd{socket_, POLLIN, 0}, pollfd{signals_, POLLIN, 0},
                                    pollfd{parent_, POLLIN, 0}};
    if (poll(polled.data(), polled.size(), -1) < 0) return errno == EINTR;
    if (polled[2].revents != 0) return false;
    if (polled[1].revents != 0) {
      reap();
      if (command_id_ == 0) return false;
    }
    return polled[0].revents == 0 || obey();
  }

  bool obey() const {
    char byte = 0;
    const ssize_t count = read(socket_, &byte, 1);
    if (count < 0) return errno == EINTR || errno == EAGAIN;
    if (count == 0) return false;
    if (byte == kTerminate && command_id_ > 0) kill(-command_id_, SIGTERM);
    return true;
  }

  // Also processes that lost their parents.
  void reap() {
    signalfd_siginfo ignored;
    while (read(signals_, &ignored, sizeof ignored) > 0) {
    }
    for (;;) {
      siginfo_t info{};
      if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0) return;
      if (info.si_pid != command_id_) continue;
      command_id_ = 0;
      report(info.si_code == CLD_EXITED ? Kind::exited : Kind::by_signal, info.si_status);
    }
  }

  // Asked of the kernel, since /proc cannot be read where descriptors or memory are short. Whatever descends
  // from this process has a child of it above, as it is their subreaper.
  static bool has_children() {
    siginfo_t ignored{};
    return waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
  }

  // Again and again, as a process may start others before its signal comes. One that hangs in a driver, or is
  // not this user's, may take any time.
  void end_all() {
    constexpr milliseconds kFirst{1}, kLongest{500};
    for (milliseconds pause = kFirst;; pause = std::min(2 * pause, kLongest)) {
      reap();
      if (!has_children()) return;
      for (const ProcessEntry& process : descendants_of(getpid())) kill_process(process);
      pollfd ended{signals_, POLLIN, 0};
      poll(&ended, 1, static_cast<int>(pause.count()));
    }
  }

  const int socket_;
  char** const command_;
  int signals_ = -1, parent_ = -1;
  pid_t command_id_ = 0;  // 0: it has ended
};

}  // namespace

// Before main(), so that it is the same in every program, and without what main() sets up.
static void become_guardian(int argc, char** argv) {
  if (argc < 4 || argv[1] != kGuardian) return;
  int socket = -1;
  const char* const end = argv[2] + std::strlen(argv[2]);
  const auto [at, error] = std::from_chars(argv[2], end, socket);
  int type = 0;
  socklen_t size = sizeof type;
  // Else a person typed it, for whom the program has no such command.
  if (error != std::errc() || at != end || getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return;
  Guardian(socket, argv + 3).serve();
}

// No [[gnu::constructor]]: GCC's link-time optimisation joins these to one function, which has no arguments
// to pass.
[[gnu::used, gnu::section(".init_array")]] static void (*before_main)(int, char**) = become_guardian;

std::string guardian_name() {
  static std::atomic<uint64_t> count = 0;
  const char* above = std::getenv(kGuardedBy);
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::string(above ? above : "/") + std::to_string(getpid()) + "-" +
         std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(now).count()) + "-" +
         std::to_string(++count) + "/";
}

// Where SIGCHLD is ignored, which is inherited, the kernel reaps a guardian before it is asked how it ended.
void adopt_orphans() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  struct sigaction children {};
  const bool known = sigaction(SIGCHLD, nullptr, &children) == 0;
  if (!known || (children.sa_handler != SIG_IGN && (children.sa_flags & SA_NOCLDWAIT) == 0)) return;
  children = {};
  children.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &children, nullptr);
}

void kill_orphans_of(const std::string& guardian) {
  constexpr milliseconds kPause{5};
  constexpr int kAttempts = 400;
  const std::string entry = std::string(kGuardedBy) + "=" + guardian;
  std::vector<pid_t> killed;
  for (int i = 0; i < kAttempts; ++i) {
    auto left = descendants_of(getpid());
    std::erase_if(left, [&](const ProcessEntry& process) {
      return process.zombie || !has_in_environment(process.id, entry);
    });
    for (const ProcessEntry& process : left) {
      kill_process(process);
      killed.push_back(process.id);
    }
    // They are children of this process now, or will be.
    std::erase_if(killed, [](pid_t id) { return waitpid(id, nullptr, WNOHANG) > 0 || kill(id, 0) != 0; });
    if (left.empty() && killed.empty()) return;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace fusesmith::backends
