#include "backends/remote/process_times.h"

#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "backends/remote/proc_files.h"

namespace fusesmith::backends {
namespace {

using std::chrono::nanoseconds;

// Kernels without CONFIG_SCHED_INFO count ticks that ran, and nothing else.
std::optional<ThreadTimes> times_in_ticks(const std::string& folder) {
  constexpr size_t kUser = 10, kSystem = 11;  // of the numbers after the state
  const std::string stat = read_proc_file(folder + "/stat");
  const std::string_view rest = after_name(stat);
  if (rest.empty()) return {};
  const std::vector<int64_t> numbers = numbers_in(rest.substr(1));
  if (numbers.size() <= kSystem) return {};
  const int64_t tick = 1'000'000'000 / sysconf(_SC_CLK_TCK);
  return ThreadTimes{nanoseconds((numbers[kUser] + numbers[kSystem]) * tick)};
}

std::optional<ThreadTimes> times_of(const std::string& folder) {
  const std::vector<int64_t> numbers = numbers_in(read_proc_file(folder + "/schedstat"));
  if (numbers.size() != 3) return times_in_ticks(folder);
  return ThreadTimes{nanoseconds(numbers[0]), nanoseconds(numbers[1]), numbers[2]};
}

// Its threads, and the processes that they started.
void read_process(pid_t process, ProcessTree& tree) {
  for (const std::string& folder : thread_folders(process)) {
    const auto thread = static_cast<pid_t>(std::atoi(folder.c_str() + folder.rfind('/') + 1));
    if (const auto times = times_of(folder)) tree.times[thread] = *times;
    for (const pid_t child : children_of_thread(folder)) tree.processes.push_back(child);
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
  const std::string stat = read_proc_file(thread, "stat");
  const std::string_view rest = after_name(stat);
  return rest.empty() ? '\0' : rest.front();
}

}  // namespace fusesmith::backends
