// The `fusesmith` program: the command line of fuzz/cli/command.h on this process's streams.
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "backends/remote/plugin_worker.h"
#include "commit.h"  // made by cmake/commit.cmake
#include "fuzz/base/color.h"
#include "fuzz/base/exit_code.h"
#include "fuzz/base/interrupt.h"
#include "fuzz/base/output_width.h"
#include "fuzz/base/patient_stream.h"
#include "fuzz/cli/command.h"
#include "fuzz/run/plugin_device.h"
#include "fuzz/supervisor/campaign_worker.h"
#include "fuzz/supervisor/worker_messages.h"

namespace {

std::terminate_handler terminate_before;

// No handler is reached when memory runs out once more while std::bad_alloc is on its way.
[[noreturn]] void end_without_memory() {
  try {
    if (std::current_exception()) throw;
  } catch (const std::bad_alloc&) {
    constexpr std::string_view kLine = "fusesmith: out of memory\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kLine.data(), kLine.size());
    _exit(fusesmith::fuzz::kOutOfMemory);
  } catch (...) {
  }
  terminate_before();
  std::abort();
}

bool reader_left() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

// 0 where standard output is no terminal.
size_t output_terminal_columns() {
  winsize size = {};
  return isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// Tensors come and go with every case: keep their memory in the process instead of giving it back to the
// system each time.
void keep_memory() {
  mallopt(M_MMAP_THRESHOLD, 256 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
}

// The next file that is opened would become a standard stream that the caller closed. To write to a standard
// output that is closed is an error, as on a full disk.
void keep_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    [[maybe_unused]] const int opened = open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// The Python package starts the program in a session of its own, and names itself here: nobody else would end
// the program when that process is killed. Not for what this process starts.
void end_with_caller() {
  constexpr const char* kCaller = "FUSESMITH_CALLER";
  const char* text = std::getenv(kCaller);
  if (!text) return;
  const pid_t caller = static_cast<pid_t>(std::strtol(text, nullptr, 10));
  unsetenv(kCaller);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (caller > 0 && getppid() != caller && kill(caller, 0) != 0) _exit(fusesmith::fuzz::kInterrupted);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view word = argc > 1 ? argv[1] : "";
  const bool is_worker =
      word == fusesmith::backends::kPluginWorker || word == fusesmith::fuzz::kCampaignWorker;
  if (!is_worker) {
    fusesmith::fuzz::Signals::catch_all(word);
    end_with_caller();
  }
  keep_standard_streams();
  // What `plugin:PATH.so` starts: no command, since it speaks a protocol and not with people.
  if (argc == 3 && word == fusesmith::backends::kPluginWorker)
    fusesmith::backends::serve_plugin(argv[2], fusesmith::fuzz::make_plugin_device_memory);
  keep_memory();
  terminate_before = std::set_terminate(end_without_memory);
  // A reader that went away, or a file above its limit, is an error of writing, not a death.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  if (argc == 3 && word == fusesmith::fuzz::kCampaignWorker) fusesmith::fuzz::serve_campaign(argv[2]);
  fusesmith::fuzz::set_terminals({isatty(STDOUT_FILENO) != 0, isatty(STDERR_FILENO) != 0});
  fusesmith::fuzz::set_terminal_columns(output_terminal_columns());
  fusesmith::fuzz::PatientBuffer errors(STDERR_FILENO);
  std::ostream err(&errors);
  fusesmith::fuzz::Console console{std::cout,
                                   err,
                                   isatty(STDERR_FILENO) != 0,
                                   argc > 0 ? argv[0] : "fusesmith",
                                   reader_left,
                                   FUSESMITH_COMMIT,
                                   "/proc/self/exe"};
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  return fusesmith::fuzz::run_command_line(args, console);
}
