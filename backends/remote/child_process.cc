#include "backends/remote/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

extern char** environ;  // NOLINT(readability-redundant-declaration): not every libc declares it

namespace fusesmith::backends {
namespace {

using std::chrono::milliseconds;

using Kind = GuardianReport::Kind;

constexpr milliseconds kStartPatience{60'000}, kExitPatience{500}, kKillPatience{5000};
constexpr milliseconds kTick{50};

void close_if_open(int& descriptor) {
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
}

void make_nonblocking(int descriptor) { fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK); }

// The ends of the three streams, and of the guardian's socket; [0] is the parent's.
struct Streams {
  std::array<int, 2> input = {-1, -1}, output = {-1, -1}, errors = {-1, -1}, control = {-1, -1};

  // Closed on exec, so that no other child inherits them and keeps them open.
  bool open() {
    // A socket for the input: writing to it can be told not to raise SIGPIPE.
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input.data()) != 0) return false;
    return pipe2(output.data(), O_CLOEXEC) == 0 && pipe2(errors.data(), O_CLOEXEC) == 0 &&
           socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control.data()) == 0;
  }
  void close_child_ends() {
    close_if_open(input[1]);
    close_if_open(output[1]);
    close_if_open(errors[1]);
    close_if_open(control[1]);
  }
  void close_all() {
    close_child_ends();
    close_if_open(input[0]);
    close_if_open(output[0]);
    close_if_open(errors[0]);
    close_if_open(control[0]);
  }
};

// Copies of descriptors, with numbers above those that a child will have them under.
class Inherited {
 public:
  explicit Inherited(const std::vector<int>& descriptors) {
    const int first = kFirstInherited + static_cast<int>(descriptors.size());
    for (const int descriptor : descriptors) copies_.push_back(fcntl(descriptor, F_DUPFD_CLOEXEC, first));
  }
  Inherited(const Inherited&) = delete;
  Inherited& operator=(const Inherited&) = delete;
  ~Inherited() {
    for (int& copy : copies_) close_if_open(copy);
  }

  bool ok() const { return std::find(copies_.begin(), copies_.end(), -1) == copies_.end(); }
  void add_to(posix_spawn_file_actions_t& actions) const {
    for (size_t i = 0; i < copies_.size(); ++i)
      posix_spawn_file_actions_adddup2(&actions, copies_[i], kFirstInherited + static_cast<int>(i));
  }

  static constexpr int kFirstInherited = 3;

 private:
  std::vector<int> copies_;
};

// "NAME=value" each: this process's, with other values for some names.
std::vector<std::string> environment_with(const ChildProcess::Variables& variables) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    if (!variables.contains(text.substr(0, text.find('=')))) environment.push_back(text);
  }
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  return environment;
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// The guardian, which is not to be ended by what a terminal sends to all processes. Returns 0 or an errno.
int spawn(const std::vector<std::string>& command, const Streams& streams, std::vector<int> descriptors,
          const ChildProcess::Variables& variables, pid_t& id) {
  descriptors.push_back(streams.control[1]);
  const Inherited inherited(descriptors);
  if (!inherited.ok()) return errno;
  std::vector<std::string> guarded = {
      "fusesmith", std::string(kGuardian),
      std::to_string(Inherited::kFirstInherited + static_cast<int>(descriptors.size()) - 1)};
  guarded.insert(guarded.end(), command.begin(), command.end());
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, streams.input[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, streams.output[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, streams.errors[1], STDERR_FILENO);
  inherited.add_to(actions);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &all);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const std::vector<std::string> environment = environment_with(variables);
  const int error = posix_spawn(&id, "/proc/self/exe", &actions, &attributes, pointers_to(guarded).data(),
                                pointers_to(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(const std::vector<std::string>& command,
                                                          const std::vector<int>& inherited,
                                                          const Variables& variables) {
  if (command.empty() || command[0].empty()) return Problem{"no command to start"};
  Streams streams;
  if (!streams.open()) {
    const int error = errno;
    streams.close_all();
    return Problem{std::string("cannot make pipes: ") + std::strerror(error)};
  }
  adopt_orphans();
  std::unique_ptr<ChildProcess> child(new ChildProcess());
  child->guardian_name_ = guardian_name();
  Variables with_name = variables;
  with_name[kGuardedBy] = child->guardian_name_;
  const auto cannot = [&](int error) {
    return Problem{"cannot start '" + command[0] + "': " + std::strerror(error)};
  };
  if (const int error = spawn(command, streams, inherited, with_name, child->guardian_); error != 0) {
    streams.close_all();
    child->guardian_ = -1;
    return cannot(error);
  }
  streams.close_child_ends();
  child->input_ = streams.input[0];
  child->output_ = streams.output[0];
  child->errors_ = streams.errors[0];
  child->control_ = streams.control[0];
  for (const int descriptor : {child->input_, child->output_, child->errors_}) make_nonblocking(descriptor);
  const auto report = child->report_within(kStartPatience);
  if (!report) return cannot(ETIMEDOUT);
  if (report->kind == Kind::cannot) return cannot(report->value);
  if (report->kind == Kind::started)
    child->id_ = report->value;
  else
    child->ended_ = report;
  child->clock_.emplace(child->id_);
  return child;
}

ChildProcess::~ChildProcess() {
  close_if_open(input_);
  if (id_ > 0) ended_within(kExitPatience);
  kill();
  close_if_open(output_);
  close_if_open(errors_);
}

TimeLimit ChildProcess::limit_from_now(double seconds) {
  clock_->rest();
  return {clock_->reading(), seconds};
}

ChildProcess::Io ChildProcess::wait_for(int events, int descriptor, const TimeLimit& limit) {
  for (;;) {
    clock_->tick();
    switch (limit.at(clock_->reading())) {
      case TimeLimit::State::passed:
        return Io::timed_out;
      case TimeLimit::State::stopped:
        return Io::stopped;
      case TimeLimit::State::overloaded:
        return Io::overloaded;
      case TimeLimit::State::within:
        break;
    }
    std::array<pollfd, 2> polled = {pollfd{descriptor, static_cast<short>(events), 0},
                                    pollfd{errors_, POLLIN, 0}};
    const int ready = poll(polled.data(), polled.size(), static_cast<int>(kTick.count()));
    if (ready < 0 && errno != EINTR) return Io::done;
    if (polled[1].revents != 0) read_errors();
    if (polled[0].revents != 0) return Io::done;
  }
}

void ChildProcess::read_errors() {
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t count = errors_ < 0 ? 0 : ::read(errors_, buffer.data(), buffer.size());
    if (count == 0) return close_if_open(errors_);
    if (count < 0) return;
    error_text_.append(buffer.data(), static_cast<size_t>(count));
    if (error_text_.size() > 2 * kKeptErrors) error_text_.erase(0, error_text_.size() - kKeptErrors);
  }
}

void ChildProcess::read_errors_for(milliseconds time) {
  const auto deadline = Clock::now() + time;
  for (auto left = time; left.count() > 0; left = std::chrono::ceil<milliseconds>(deadline - Clock::now())) {
    pollfd polled{errors_, POLLIN, 0};  // poll passes over a descriptor of -1
    if (poll(&polled, 1, static_cast<int>(left.count())) > 0) read_errors();
  }
}

ChildProcess::Io ChildProcess::write(std::span<const std::byte> bytes, const TimeLimit& limit) {
  while (!bytes.empty()) {
    const ssize_t count = send(input_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count > 0) {
      bytes = bytes.subspan(static_cast<size_t>(count));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (const Io io = wait_for(POLLOUT, input_, limit); io != Io::done) return io;
    } else if (errno != EINTR) {
      return Io::closed;
    }
  }
  return Io::done;
}

ChildProcess::Io ChildProcess::read(std::span<std::byte> bytes, const TimeLimit& limit) {
  while (!bytes.empty()) {
    const ssize_t count = ::read(output_, bytes.data(), bytes.size());
    if (count > 0) {
      bytes = bytes.subspan(static_cast<size_t>(count));
    } else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (const Io io = wait_for(POLLIN, output_, limit); io != Io::done) return io;
    } else if (count == 0 || errno != EINTR) {
      return Io::closed;
    }
  }
  return Io::done;
}

bool ChildProcess::kill() {
  if (guardian_ <= 0) return true;
  close_if_open(control_);     // at which the guardian kills all, and ends
  ::kill(guardian_, SIGCONT);  // should it be stopped
  const auto deadline = Clock::now() + kKillPatience;
  std::optional<GuardianReport> end;
  for (;;) {
    end = end_of_guardian();
    if (end || Clock::now() >= deadline) break;
    std::this_thread::sleep_for(milliseconds(1));
  }
  if (end) {
    while (waitpid(guardian_, nullptr, 0) < 0 && errno == EINTR) {
    }
    if (end->kind == Kind::by_signal) kill_orphans_of(guardian_name_);
  }
  id_ = guardian_ = -1;
  return end.has_value();
}

void ChildProcess::terminate() {
  if (control_ >= 0) send(control_, &kTerminate, sizeof kTerminate, MSG_NOSIGNAL);
}

int ChildProcess::ending_signal() const {
  return ended_ && ended_->kind == Kind::by_signal ? ended_->value : 0;
}

bool ChildProcess::ended_within(milliseconds patience) {
  if (!ended_ && control_ >= 0) ended_ = report_within(patience);
  return ended_.has_value();
}

// A guardian that was killed took the process with it.
std::optional<GuardianReport> ChildProcess::report_within(milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  for (;;) {
    const auto left = std::max(milliseconds(0), std::chrono::ceil<milliseconds>(deadline - Clock::now()));
    pollfd polled{control_, POLLIN, 0};
    const int ready = poll(&polled, 1, static_cast<int>(left.count()));
    if (ready == 0) return {};
    GuardianReport report;
    const ssize_t count = ready < 0 ? -1 : recv(control_, &report, sizeof report, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count == sizeof report) return report;
    auto end = end_of_guardian();
    if (end) kill_orphans_of(guardian_name_);
    if (end || left.count() == 0) return end;
    std::this_thread::sleep_for(milliseconds(1));  // it is about to end
  }
}

std::optional<GuardianReport> ChildProcess::end_of_guardian() const {
  siginfo_t info{};
  const int result = waitid(P_PID, static_cast<id_t>(guardian_), &info, WEXITED | WNOHANG | WNOWAIT);
  if (result != 0 || info.si_pid != guardian_) return {};
  return GuardianReport{info.si_code == CLD_EXITED ? Kind::exited : Kind::by_signal, info.si_status};
}

bool ChildProcess::has_output() const {
  pollfd polled{output_, POLLIN, 0};
  return poll(&polled, 1, 0) > 0 && (polled.revents & POLLIN) != 0;
}

bool ChildProcess::end() {
  close_if_open(input_);
  return ended_within(std::chrono::seconds(5));
}

std::string ChildProcess::how_it_ended() {
  if (!ended_within(milliseconds(1000))) return "";
  const std::string value = std::to_string(ended_->value);
  if (ended_->kind == Kind::exited) return "exit code " + value;
  return "signal " + value + " (" + strsignal(ended_->value) + ")";
}

std::string ChildProcess::last_errors(size_t most) {
  read_errors();
  const size_t size = std::min(error_text_.size(), most);
  return error_text_.substr(error_text_.size() - size);
}

}  // namespace fusesmith::backends
