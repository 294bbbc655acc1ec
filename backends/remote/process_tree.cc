#include "backends/remote/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>

namespace fusesmith::backends {
namespace {

// Without what is beyond a size that no such file has.
std::string contents_of(pid_t id, const char* name) {
  constexpr size_t kMost = size_t{4} << 20;
  const std::string path = "/proc/" + std::to_string(id) + "/" + name;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string contents;
  if (file < 0) return contents;
  std::array<char, 4096> buffer;
  while (contents.size() < kMost) {
    const ssize_t count = read(file, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    contents.append(buffer.data(), static_cast<size_t>(count));
  }
  close(file);
  return contents;
}

// The name of the program is in parentheses and may hold anything, also parentheses.
std::optional<ProcessEntry> entry_of(pid_t id) {
  const std::string text = contents_of(id, "stat");
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return {};
  ProcessEntry entry{id};
  entry.zombie = text[name_end + 2] == 'Z' || text[name_end + 2] == 'X';
  constexpr int kState = 3, kParent = 4, kStarted = 22;  // fields, as proc(5) numbers them
  const char *at = text.data() + name_end + 2, *const end = text.data() + text.size();
  for (int field = kState; at < end; ++field) {
    if (field == kParent) std::from_chars(at, end, entry.parent);
    if (field == kStarted) {
      std::from_chars(at, end, entry.started);
      return entry;
    }
    while (at < end && *at != ' ') ++at;
    ++at;
  }
  return {};
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
  std::vector<pid_t> found, unread = {root};
  while (!unread.empty()) {
    const pid_t parent = unread.back();
    unread.pop_back();
    const std::string tasks = "/proc/" + std::to_string(parent) + "/task";
    DIR* folder = opendir(tasks.c_str());
    if (!folder) continue;  // it has ended
    while (const dirent* task = readdir(folder)) {
      if (task->d_name[0] == '.') continue;
      const std::string children =
          contents_of(parent, ("task/" + std::string(task->d_name) + "/children").c_str());
      const char *at = children.data(), *const end = at + children.size();
      for (pid_t child = 0; at < end;) {
        const auto [next, error] = std::from_chars(at, end, child);
        if (error != std::errc()) break;
        found.push_back(child);
        unread.push_back(child);
        at = next + 1;
      }
    }
    closedir(folder);
  }
  return found;
}

double resident_mb(pid_t id) {
  const std::string text = contents_of(id, "statm");
  const size_t space = std::min(text.find(' '), text.size());
  int64_t pages = 0;
  if (space < text.size()) std::from_chars(text.data() + space + 1, text.data() + text.size(), pages);
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

double proportional_mb(pid_t id) {
  const std::string text = contents_of(id, "smaps_rollup");
  const size_t line = text.find("\nPss:");
  if (line == std::string::npos) return resident_mb(id);
  const size_t number = std::min(text.find_first_of("0123456789", line), text.size());
  int64_t kib = 0;
  std::from_chars(text.data() + number, text.data() + text.size(), kib);
  return static_cast<double>(kib) / 1024;
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
  const std::string environment = contents_of(id, "environ");
  for (size_t at = 0; at < environment.size(); at = environment.find('\0', at) + 1) {
    if (std::string_view(environment).substr(at).starts_with(entry)) return true;
    if (environment.find('\0', at) == std::string::npos) break;
  }
  return false;
}

}  // namespace fusesmith::backends
