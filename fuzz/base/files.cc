#include "fuzz/base/files.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>
#include <utility>

#include "fuzz/base/folder_walk.h"

namespace fusesmith::fuzz {

namespace fs = std::filesystem;

namespace {

constexpr uintmax_t kMaxFileSize = uintmax_t{256} << 20;
// What campaigns write beside cases.
constexpr std::string_view kNoCases[] = {"campaign.json", "stats.json", "verdict.json"};

// Throws std::bad_alloc where memory was short: that says nothing about the path.
Problem problem(const fs::path& path, std::string_view verb, int error) {
  if (error == ENOMEM) throw std::bad_alloc();
  return {path.string() + ": cannot " + std::string(verb) + ": " + std::strerror(error)};
}

}  // namespace

std::optional<Problem> write_file(const fs::path& path, std::string_view text) {
  return write_file(WorkPath(path.parent_path()) / path.filename().string(), text);
}

std::optional<Problem> make_folder(const fs::path& path) { return make_folder(WorkPath(path)); }

Result<std::string> read_file(const fs::path& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) return problem(path, "read", error ? error.value() : ENOENT);
  if (!fs::is_regular_file(status)) return Problem{path.string() + ": cannot read: not a regular file"};
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.ok()) return problem(path, "read", errno);
  const Problem too_large{path.string() + ": cannot read: larger than 256 MiB"};
  std::string text;
  if (fs::file_size(path, error) > kMaxFileSize && !error) return too_large;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return problem(path, "read", errno);
    if (count == 0) return text;
    text.append(buffer, static_cast<size_t>(count));
    if (text.size() > kMaxFileSize) return too_large;
  }
}

Result<std::string> read_standard_input(size_t limit, bool (*stop)()) {
  constexpr int kMilliseconds = 100;
  std::string text;
  char buffer[1 << 16];
  while (text.size() <= limit) {
    if (stop()) return Problem{"interrupted"};
    pollfd wanted{STDIN_FILENO, POLLIN, 0};
    if (::poll(&wanted, 1, kMilliseconds) <= 0) continue;
    const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return problem("standard input", "read", errno);
    if (count == 0) return text;
    text.append(buffer, static_cast<size_t>(count));
  }
  text.resize(limit);
  return text;
}

namespace {

// Whether a folder that holds this stands for it, going by its name and kind.
bool is_case_file(const fs::path& file) {
  const std::string name = file.filename().string();
  if (file.extension() != ".json" || name.starts_with(kTemporary)) return false;
  if (std::find(std::begin(kNoCases), std::end(kNoCases), name) != std::end(kNoCases)) return false;
  std::error_code error;
  // A link that leads nowhere counts: whoever reads it says so.
  if (fs::exists(file, error) && !fs::is_regular_file(file, error)) return false;
  return name != "case.json" || !fs::is_regular_file(file.parent_path() / "min.json", error);
}

}  // namespace

Result<std::vector<std::string>> list_json(const std::string& path, int64_t* others) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    if (!fs::exists(path, error)) return problem(path, "read", ENOENT);
    return std::vector<std::string>{path};
  }
  auto items = items_below(path);
  if (!items) return Problem{items.problem()};
  std::vector<std::string> files;
  for (const FolderItem& item : *items) {
    const fs::path file = item.path;
    if (is_case_file(file)) {
      files.push_back(item.path);
    } else if (others && !file.filename().string().starts_with('.') && !fs::is_directory(file, error)) {
      ++*others;
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

Result<FolderLock> FolderLock::take(const fs::path& folder, bool* taken) {
  if (taken) *taken = false;
  auto file = open_file(WorkPath(folder) / ".lock", O_RDWR | O_CREAT, "write");
  if (!file) return Problem{file.problem()};
  if (::flock(file->get(), LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    // A file system without locks, where only leases keep processes apart (fuzz/base/lease.h).
    if (error == ENOSYS || error == EOPNOTSUPP || error == ENOLCK) return FolderLock(std::move(*file));
    if (error != EWOULDBLOCK) return problem(folder, "lock", error);
    if (taken) *taken = true;
    return Problem{folder.string() +
                   ": another process is at work there; wait for it or name another folder"};
  }
  return FolderLock(std::move(*file));
}

// Asks the kernel for its list, because to try the lock would stop a campaign that starts at this moment.
// Devices are not compared: some file systems report another one there.
bool FolderLock::is_taken(const fs::path& folder) {
  struct stat status {};
  if (!status_of(WorkPath(folder) / ".lock", status) || !S_ISREG(status.st_mode)) return false;
  const std::string inode = ":" + std::to_string(status.st_ino) + " ";
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    if (line.find("FLOCK") != std::string::npos && line.find("WRITE") != std::string::npos &&
        line.find(inode) != std::string::npos && line.find("->") == std::string::npos)
      return true;
  }
  return false;
}

}  // namespace fusesmith::fuzz
