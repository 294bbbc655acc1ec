// The `fusesmith` program: the command line of fuzz/cli/command.h on this process's streams.
#include <malloc.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "backends/remote/plugin_worker.h"
#include "commit.h"  // made by cmake/commit.cmake
#include "fuzz/campaign/campaign_worker.h"
#include "fuzz/campaign/worker_messages.h"
#include "fuzz/cli/command.h"
#include "fuzz/run/plugin_device.h"

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

// Tensors come and go with every case: keep their memory in the process instead of giving it back to the
// system each time.
void keep_memory() {
  mallopt(M_MMAP_THRESHOLD, 256 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
}

}  // namespace

int main(int argc, char** argv) {
  // What `plugin:PATH.so` starts: no command, since it speaks a protocol and not with people.
  if (argc == 3 && argv[1] == fusesmith::backends::kPluginWorker)
    fusesmith::backends::serve_plugin(argv[2], fusesmith::fuzz::make_plugin_device_memory);
  keep_memory();
  terminate_before = std::set_terminate(end_without_memory);
  // A reader that went away, or a file above its limit, is an error of writing, not a death.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  if (argc == 3 && argv[1] == fusesmith::fuzz::kCampaignWorker) fusesmith::fuzz::serve_campaign(argv[2]);
  fusesmith::fuzz::Console console{
      std::cout,   std::cerr,       isatty(STDERR_FILENO) != 0, argc > 0 ? argv[0] : "fusesmith",
      reader_left, FUSESMITH_COMMIT, "/proc/self/exe"};
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  return fusesmith::fuzz::run_command_line(args, console);
}
