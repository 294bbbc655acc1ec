// A child process with pipes to its standard streams, in a process group of its own. The one place that
// starts, awaits and ends processes. Between this process and the child is a guardian, which ends whatever
// descends from the child when the child ends, or this process.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/remote/guardian.h"
#include "backends/remote/process_clock.h"
#include "graph/result.h"

namespace fusesmith::backends {

class ChildProcess {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Io {
    done,
    closed,     // the process ended, or closed the stream
    timed_out,  // the time limit passed first
    stopped,
    overloaded,  // as TimeLimit::State has them
  };

  // Replaces those of this process's environment.
  using Variables = std::map<std::string, std::string>;

  // The program is looked for in PATH. It has the `inherited` descriptors as 3, 4, ... The problem says why
  // it could not be started.
  static Result<std::unique_ptr<ChildProcess>> start(const std::vector<std::string>& command,
                                                     const std::vector<int>& inherited = {},
                                                     const Variables& variables = {});

  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  // Closes the standard input, gives the process a moment to exit, then kills its group.
  ~ChildProcess();

  // All of the bytes, to standard input and from standard output. Meanwhile whatever the process writes to
  // standard error is read, so that neither waits for the other.
  Io write(std::span<const std::byte> bytes, const TimeLimit& limit);
  Io read(std::span<std::byte> bytes, const TimeLimit& limit);
  // Of its time, and that of all that it started, for what is asked of it from now on.
  TimeLimit limit_from_now(double seconds);

  // Whether something can be read from its standard output now.
  bool has_output() const;

  // Reads what it writes to standard error, for so long.
  void read_errors_for(std::chrono::milliseconds time);

  // Closes standard input; whether the process then ends within 5 s.
  bool end();

  // Sends SIGTERM to the whole group.
  void terminate();
  // Whether the process ends within this time.
  bool ended_within(std::chrono::milliseconds patience);
  // The signal that ended it; 0 if it ended by itself, or has not ended.
  int ending_signal() const;
  // Once the process has ended, the id may be another's.
  pid_t id() const { return id_; }

  // Sends SIGKILL to the process and to all that descends from it, and waits for them. Whether they ended: a
  // process that hangs in a driver may not, and is left alone after some seconds. Nothing but last_errors()
  // may follow.
  bool kill();

  // "exit code 3", "signal 11 (Segmentation fault)"; empty while it runs. Waits up to a second for a process
  // that has closed its streams.
  std::string how_it_ended();
  static constexpr size_t kKeptErrors = 4096;  // bytes
  static constexpr size_t kLineOfErrors = 600;
  // The end of what it wrote to standard error, at most so many bytes.
  std::string last_errors(size_t most = kKeptErrors);

 private:
  ChildProcess() = default;
  Io wait_for(int events, int descriptor, const TimeLimit& limit);
  void read_errors();
  std::optional<GuardianReport> report_within(std::chrono::milliseconds patience);
  std::optional<GuardianReport> end_of_guardian() const;

  pid_t id_ = -1, guardian_ = -1;
  std::string guardian_name_;
  std::optional<ProcessClock> clock_;
  int input_ = -1, output_ = -1, errors_ = -1;
  int control_ = -1;                     // the guardian's socket
  std::optional<GuardianReport> ended_;  // how, once it has
  std::string error_text_;
};

}  // namespace fusesmith::backends
