#include "backends/remote/process_times.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "backends/remote/open_folder.h"

namespace fusesmith::backends {
namespace {

using std::chrono::nanoseconds;

// A file of /proc; empty if there is none. What is longer is cut.
std::string read_small(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return "";
  std::array<char, 4096> buffer;
  const ssize_t count = read(descriptor, buffer.data(), buffer.size());
  close(descriptor);
  return count > 0 ? std::string(buffer.data(), static_cast<size_t>(count)) : "";
}

std::vector<int64_t> numbers_in(std::string_view text) {
  std::vector<int64_t> numbers;
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    int64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error == std::errc()) numbers.push_back(number);
    at = next > at ? next : at + 1;
  }
  return numbers;
}

// What follows the name of the program in /proc/PID/stat, from the state on; the name may hold anything.
std::string_view after_name(std::string_view stat) {
  const size_t end = stat.rfind(')');
  return end == std::string_view::npos || end + 2 >= stat.size() ? std::string_view() : stat.substr(end + 2);
}

// Kernels without CONFIG_SCHED_INFO count ticks that ran, and nothing else.
std::optional<ThreadTimes> times_in_ticks(const std::string& folder) {
  constexpr size_t kUser = 10, kSystem = 11;  // of the numbers after the state
  const std::string stat = read_small(folder + "/stat");
  const std::string_view rest = after_name(stat);
  if (rest.empty()) return {};
  const std::vector<int64_t> numbers = numbers_in(rest.substr(1));
  if (numbers.size() <= kSystem) return {};
  const int64_t tick = 1'000'000'000 / sysconf(_SC_CLK_TCK);
  return ThreadTimes{nanoseconds((numbers[kUser] + numbers[kSystem]) * tick)};
}

std::optional<ThreadTimes> times_of(const std::string& folder) {
  const std::vector<int64_t> numbers = numbers_in(read_small(folder + "/schedstat"));
  if (numbers.size() != 3) return times_in_ticks(folder);
  return ThreadTimes{nanoseconds(numbers[0]), nanoseconds(numbers[1]), numbers[2]};
}

// Its threads, and the processes that they started.
void read_process(pid_t process, ProcessTree& tree) {
  const std::string tasks = "/proc/" + std::to_string(process) + "/task";
  const OpenFolder folder(opendir(tasks.c_str()));
  if (!folder) return;
  while (const dirent* entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    pid_t thread = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), thread).ec != std::errc()) continue;
    const std::string at = tasks + "/" + entry->d_name;
    if (const auto times = times_of(at)) tree.times[thread] = *times;
    for (const int64_t child : numbers_in(read_small(at + "/children")))
      tree.processes.push_back(static_cast<pid_t>(child));
  }
}

}  // namespace

ProcessTree read_process_tree(pid_t root) {
  constexpr size_t kMostProcesses = 4096;
  ProcessTree tree;
  tree.processes.push_back(root);
  for (size_t i = 0; i < tree.processes.size() && i < kMostProcesses; ++i)
    read_process(tree.processes[i], tree);
  return tree;
}

char state_of_thread(pid_t thread) {
  const std::string stat = read_small("/proc/" + std::to_string(thread) + "/stat");
  const std::string_view rest = after_name(stat);
  return rest.empty() ? '\0' : rest.front();
}

}  // namespace fusesmith::backends
