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

namespace fusesmith::fuzz {

namespace fs = std::filesystem;

namespace {

constexpr uintmax_t kMaxFileSize = uintmax_t{256} << 20;
constexpr std::string_view kTemporary = ".tmp-";
// What campaigns write beside cases.
constexpr std::string_view kNoCases[] = {"campaign.json", "stats.json", "verdict.json"};

// Throws std::bad_alloc where memory was short: that says nothing about the path.
Problem problem(const fs::path& path, std::string_view verb, int error) {
  if (error == ENOMEM) throw std::bad_alloc();
  return {path.string() + ": cannot " + std::string(verb) + ": " + std::strerror(error)};
}

// Closes on destruction; close() tells whether that went well.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  bool ok() const { return fd_ >= 0; }
  int get() const { return fd_; }
  bool close() { return fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

std::optional<Problem> sync_folder(const fs::path& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems refuse to sync folders (EINVAL): the rename is then as durable as they make it.
  if (!descriptor.ok() || (::fsync(descriptor.get()) != 0 && errno != EINVAL))
    return problem(folder, "sync", errno);
  return {};
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// A new file beside the one of this path; never one that is there already, whatever it links to.
int open_temporary(const fs::path& path, fs::path& temporary) {
  constexpr int kAttempts = 100;  // names that a killed process of the same id left
  static std::atomic<unsigned> counter = 0;
  int file = -1;
  for (int attempt = 0; file < 0 && attempt < kAttempts; ++attempt) {
    temporary = folder_of(path) / (std::string(kTemporary) + std::to_string(::getpid()) + "-" +
                                   std::to_string(counter++) + "-" + path.filename().string());
    file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0 && errno != EEXIST) break;
  }
  return file;
}

}  // namespace

std::optional<Problem> write_file(const fs::path& path, std::string_view text) {
  fs::path temporary;
  Descriptor file(open_temporary(path, temporary));
  if (!file.ok()) return problem(path, "write", errno);
  if (!write_all(file.get(), text) || ::fsync(file.get()) != 0 || !file.close() ||
      ::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    return problem(path, "write", error);
  }
  return sync_folder(folder_of(path));
}

std::optional<Problem> make_folder(const fs::path& path) {
  std::error_code error;
  const bool is_new = fs::create_directories(path, error);
  if (error) return problem(path, "make the folder", error.value());
  if (is_new) {
    if (auto unsynced = sync_folder(folder_of(path))) return unsynced;
  }
  if (!fs::is_directory(path, error)) return problem(path, "make the folder", ENOTDIR);
  return {};
}

std::optional<Problem> write_if_changed(const fs::path& path, std::string_view text) {
  const auto there = read_file(path);
  if (there && *there == text) return {};
  return write_file(path, text);
}

std::optional<Problem> move_folder(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return problem(to, "write", errno);
  if (auto unsynced = sync_folder(folder_of(from))) return unsynced;
  return sync_folder(folder_of(to));
}

Result<std::string> read_file(const fs::path& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) return problem(path, "read", error ? error.value() : ENOENT);
  if (!fs::is_regular_file(status)) return Problem{path.string() + ": cannot read: not a regular file"};
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok()) return problem(path, "read", errno);
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return problem(path, "read", errno);
    if (count == 0) return text;
    text.append(buffer, static_cast<size_t>(count));
    if (text.size() > kMaxFileSize) return Problem{path.string() + ": cannot read: larger than 256 MiB"};
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
bool is_case_file(const fs::directory_entry& entry) {
  const fs::path& file = entry.path();
  const std::string name = file.filename().string();
  if (file.extension() != ".json" || name.starts_with(kTemporary)) return false;
  if (std::find(std::begin(kNoCases), std::end(kNoCases), name) != std::end(kNoCases)) return false;
  std::error_code error;
  // A link that leads nowhere counts: whoever reads it says so.
  if (fs::exists(file, error) && !fs::is_regular_file(file, error)) return false;
  return name != "case.json" || !fs::is_regular_file(file.parent_path() / "min.json", error);
}

bool is_temporary(const std::string& name) {
  size_t at = kTemporary.size();
  if (!name.starts_with(kTemporary)) return false;
  for (int i = 0; i < 2; ++i) {
    const size_t end = name.find_first_not_of("0123456789", at);
    if (end == at || end == std::string::npos || name[end] != '-') return false;
    at = end + 1;
  }
  return true;
}

}  // namespace

void remove_temporary_files(const fs::path& folder) {
  std::error_code error, ignored;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    const bool is_file = it->symlink_status(ignored).type() == fs::file_type::regular;
    if (is_file && is_temporary(it->path().filename().string())) fs::remove(it->path(), ignored);
  }
}

Result<std::vector<fs::path>> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator();
       it.increment(error))
    entries.push_back(it->path());
  if (error) return problem(folder, "list", error.value());
  return entries;
}

Result<std::vector<std::string>> list_json(const std::string& path, int64_t* others) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    if (!fs::exists(path, error)) return problem(path, "read", ENOENT);
    return std::vector<std::string>{path};
  }
  std::vector<std::string> files;
  std::error_code ignored;
  fs::recursive_directory_iterator it(path, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (is_case_file(*it)) {
      files.push_back(it->path().string());
    } else if (others && !it->path().filename().string().starts_with('.') && !it->is_directory(ignored)) {
      ++*others;
    }
  }
  if (error) return problem(path, "list", error.value());
  std::sort(files.begin(), files.end());
  return files;
}

Result<FolderLock> FolderLock::take(const fs::path& folder, bool* taken) {
  if (taken) *taken = false;
  const int fd = ::open((folder / ".lock").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0) return problem(folder, "write", errno);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    // A file system without locks, where only leases keep processes apart (fuzz/base/lease.h).
    if (error == ENOSYS || error == EOPNOTSUPP || error == ENOLCK) return FolderLock(fd);
    ::close(fd);
    if (error != EWOULDBLOCK) return problem(folder, "lock", error);
    if (taken) *taken = true;
    return Problem{folder.string() +
                   ": another process is at work there; wait for it or name another folder"};
  }
  return FolderLock(fd);
}

// Asks the kernel for its list, because to try the lock would stop a campaign that starts at this moment.
// Devices are not compared: some file systems report another one there.
bool FolderLock::is_taken(const fs::path& folder) {
  struct stat status {};
  if (::stat((folder / ".lock").c_str(), &status) != 0) return false;
  const std::string inode = ":" + std::to_string(status.st_ino) + " ";
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    if (line.find("FLOCK") != std::string::npos && line.find("WRITE") != std::string::npos &&
        line.find(inode) != std::string::npos && line.find("->") == std::string::npos)
      return true;
  }
  return false;
}

FolderLock::FolderLock(FolderLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace fusesmith::fuzz
