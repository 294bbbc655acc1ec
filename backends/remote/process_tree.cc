#include "backends/remote/process_tree.h"

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>

#include "backends/remote/proc_files.h"

namespace fusesmith::backends {
namespace {

std::optional<ProcessEntry> entry_of(pid_t id) {
  const std::string text = read_proc_file(id, "stat");
  const std::string_view rest = after_name(text);
  constexpr size_t kParent = 0, kStarted = 18;  // of the numbers after the state; fields 4 and 22 of proc(5)
  const std::vector<int64_t> numbers = numbers_in(rest);
  if (numbers.size() <= kStarted) return {};
  ProcessEntry entry{id};
  entry.zombie = rest[0] == 'Z' || rest[0] == 'X';
  entry.parent = static_cast<pid_t>(numbers[kParent]);
  entry.started = static_cast<uint64_t>(numbers[kStarted]);
  return entry;
}

}  // namespace

std::vector<ProcessEntry> all_processes() {
  std::vector<ProcessEntry> processes;
  DIR* folder = opendir("/proc");
  if (!folder) return processes;
  while (const dirent* found = readdir(folder)) {
    pid_t id = 0;
    const char *name = found->d_name, *const end = name + std::strlen(name);
    if (const auto [at, error] = std::from_chars(name, end, id); error != std::errc() || at != end) continue;
    if (const auto entry = entry_of(id)) processes.push_back(*entry);
  }
  closedir(folder);
  return processes;
}

std::vector<ProcessEntry> descendants_of(pid_t root, const std::vector<ProcessEntry>& processes) {
  std::unordered_multimap<pid_t, const ProcessEntry*> children;
  for (const ProcessEntry& process : processes) children.emplace(process.parent, &process);
  std::vector<ProcessEntry> found;
  const auto add_children = [&](pid_t parent) {
    const auto [begin, end] = children.equal_range(parent);
    for (auto child = begin; child != end; ++child) found.push_back(*child->second);
    children.erase(begin, end);  // so that this ends where ids changed hands while they were read
  };
  add_children(root);
  for (size_t i = 0; i < found.size(); ++i) add_children(found[i].id);
  return found;
}

std::vector<pid_t> tree_below(pid_t root) {
  std::vector<pid_t> found;
  const auto add_children = [&](pid_t parent) {
    for (const std::string& thread : thread_folders(parent)) {
      for (const pid_t child : children_of_thread(thread)) found.push_back(child);
    }
  };
  add_children(root);
  for (size_t i = 0; i < found.size(); ++i) add_children(found[i]);
  return found;
}

double resident_mb(pid_t id) {
  const std::vector<int64_t> pages = numbers_in(read_proc_file(id, "statm"));
  return pages.size() < 2 ? 0 : static_cast<double>(pages[1] * sysconf(_SC_PAGESIZE)) / (1 << 20);
}

double proportional_mb(pid_t id) {
  const std::string text = read_proc_file(id, "smaps_rollup");
  const size_t line = text.find("\nPss:");
  const std::vector<int64_t> kib = numbers_in(std::string_view(text).substr(std::min(line, text.size())));
  return kib.empty() ? resident_mb(id) : static_cast<double>(kib.front()) / 1024;
}

void kill_process(const ProcessEntry& process) {
#ifdef SYS_pidfd_open
  const auto descriptor = static_cast<int>(syscall(SYS_pidfd_open, process.id, 0));
  if (descriptor >= 0) {
    const auto now = entry_of(process.id);
    if (now && now->started == process.started)
      syscall(SYS_pidfd_send_signal, descriptor, SIGKILL, nullptr, 0);
    close(descriptor);
    return;
  }
  if (errno == ESRCH) return;
#endif
  const auto now = entry_of(process.id);
  if (now && now->started == process.started) kill(process.id, SIGKILL);
}

bool has_in_environment(pid_t id, std::string_view entry) {
  const std::string environment = read_proc_file(id, "environ");
  for (size_t at = 0; at < environment.size(); at = environment.find('\0', at) + 1) {
    if (std::string_view(environment).substr(at).starts_with(entry)) return true;
    if (environment.find('\0', at) == std::string::npos) break;
  }
  return false;
}

}  // namespace fusesmith::backends
