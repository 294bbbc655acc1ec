// Reads case files. A pipe or terminal that delivers no byte for most of a second is an error, so that no
// file makes a command wait forever.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "graph/case.h"
#include "graph/json_strict.h"

namespace fusesmith::graph {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kSilence{900};

struct Descriptor {
  int file;
  ~Descriptor() { ::close(file); }
};

std::string errno_text() { return std::string("cannot be read: ") + std::strerror(errno); }

// Waits for a byte or the end of the file; false if neither arrives in time.
bool wait_for_data(int file, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd wanted{file, POLLIN, 0};
    const int ready = ::poll(&wanted, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // the read reports the error
  }
}

// The whole file, or enough of it to see that it is too large.
Result<std::string> read_all(int file, size_t expected_size) {
  std::string text;
  text.reserve(expected_size);
  char buffer[1 << 16];
  auto until = Clock::now() + kSilence;
  while (text.size() <= kMaxJsonBytes) {
    if (!wait_for_data(file, until)) {
      return Problem{"cannot be read: no data came for " + std::to_string(kSilence.count()) +
                     " ms; write the case to a file first"};
    }
    const ssize_t count = ::read(file, buffer, sizeof buffer);
    if (count == 0) break;
    if (count > 0) {
      text.append(buffer, static_cast<size_t>(count));
      until = Clock::now() + kSilence;
    } else if (errno != EINTR && errno != EAGAIN) {
      return Problem{errno_text()};
    }
  }
  return text;
}

Result<std::string> read_text(const std::string& path) {
  // Without O_NONBLOCK, opening a pipe that has no writer would block.
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return Problem{errno_text()};
  const Descriptor closed_at_the_end{file};
  struct stat status = {};
  if (::fstat(file, &status) != 0) return Problem{errno_text()};
  if (S_ISDIR(status.st_mode)) return Problem{"expected a case file, got a directory"};
  if (!S_ISREG(status.st_mode)) return read_all(file, 0);
  if (status.st_size > static_cast<off_t>(kMaxJsonBytes)) {
    return Problem{"expected a file of at most " + std::to_string(kMaxJsonBytes >> 20) + " MiB, got " +
                   std::to_string(status.st_size) + " bytes"};
  }
  return read_all(file, static_cast<size_t>(status.st_size));
}

}  // namespace

Result<Case> read_case_file(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return Problem{path + ": " + text.problem()};
  auto result = parse_case(*text, DataFiles::beside(path));
  if (!result) return Problem{path + ": " + result.problem()};
  return result;
}

}  // namespace fusesmith::graph
