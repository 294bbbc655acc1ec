#include "backends/remote/proc_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "backends/remote/open_folder.h"

namespace fusesmith::backends {

std::string read_proc_file(const std::string& path) {
  constexpr size_t kMost = size_t{4} << 20;
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

std::string_view after_name(std::string_view stat) {
  const size_t end = stat.rfind(')');
  return end == std::string_view::npos || end + 2 >= stat.size() ? std::string_view() : stat.substr(end + 2);
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

std::vector<std::string> thread_folders(pid_t process) {
  std::vector<std::string> folders;
  const std::string tasks = "/proc/" + std::to_string(process) + "/task";
  const OpenFolder folder(opendir(tasks.c_str()));
  if (!folder) return folders;
  while (const dirent* entry = readdir(folder.get())) {
    if (entry->d_name[0] != '.') folders.push_back(tasks + "/" + entry->d_name);
  }
  return folders;
}

std::vector<pid_t> children_of_thread(const std::string& thread_folder) {
  const std::vector<int64_t> numbers = numbers_in(read_proc_file(thread_folder + "/children"));
  return {numbers.begin(), numbers.end()};
}

}  // namespace fusesmith::backends
