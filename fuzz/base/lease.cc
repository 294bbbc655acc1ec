#include "fuzz/base/lease.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>

#include "fuzz/base/escape.h"
#include "fuzz/base/files.h"
#include "graph/json_strict.h"

namespace fusesmith::fuzz {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kNote = "end";

struct Holder {
  std::string host, boot_id, processes;  // `processes`: the namespace in which `pid` is a process
  int64_t pid = 0;
};

std::string first_line(const char* file) {
  std::ifstream lines(file);
  std::string line;
  std::getline(lines, line);
  return line;
}

Holder this_process() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::error_code ignored;
  return {host, first_line("/proc/sys/kernel/random/boot_id"),
          fs::read_symlink("/proc/self/ns/pid", ignored).string(), getpid()};
}

Holder holder_of(const fs::path& file) {
  const auto text = read_file(WorkPath(file.parent_path()) / file.filename().string());
  const Json json = text ? parse_record(*text) : Json();
  Holder holder;
  if (!json.is_object()) return holder;
  const auto word = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
  };
  const auto pid = json.find("pid");
  if (pid != json.end() && pid->is_number_integer()) holder.pid = pid->get<int64_t>();
  holder.host = word("host");
  holder.boot_id = word("boot_id");
  holder.processes = word("pid_namespace");
  return holder;
}

// Whether the process that wrote the file is known to have ended, as far as this machine can tell.
bool has_ended(const Holder& holder) {
  const Holder self = this_process();
  if (holder.boot_id.empty() || holder.boot_id != self.boot_id || holder.processes != self.processes)
    return false;
  return holder.pid <= 0 || (kill(static_cast<pid_t>(holder.pid), 0) != 0 && errno == ESRCH);
}

// Seconds since the lease was renewed, by the clock of the file system; nothing if there is none.
std::optional<int64_t> age_of(const fs::path& file, ino_t& inode) {
  struct stat lease {};
  if (lstat(file.c_str(), &lease) != 0) return {};
  if (!S_ISREG(lease.st_mode)) {
    errno = ELOOP;
    return {};
  }
  inode = lease.st_ino;
  return std::time(nullptr) - lease.st_mtime;
}

bool is_stale(const fs::path& file, ino_t& inode) {
  const auto age = age_of(file, inode);
  if (!age) return errno == ENOENT;
  return *age > FolderLease::kStaleSeconds || has_ended(holder_of(file));
}

Problem cannot_write(const fs::path& file) {
  return {file.string() + ": cannot write: " + std::strerror(errno)};
}

// A new file of this name; -1, with errno.
int open_new(const fs::path& file) {
  return open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

// Whether the text is on disk; its inode. Closes the descriptor.
bool write_and_close(int fd, const std::string& text, ino_t& inode) {
  struct stat status {};
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       fsync(fd) == 0 && fstat(fd, &status) == 0;
  const int error = errno;
  close(fd);
  inode = status.st_ino;
  errno = error;
  return written;
}

// False, with errno, where the file is there or cannot be written. It appears whole: an empty lease, which a
// killed process left, would be respected until it is stale. File systems without hard links have no such
// way.
bool write_new(const fs::path& file, const std::string& text, ino_t& inode) {
  static std::atomic<unsigned> counter = 0;
  const fs::path temporary =
      file.parent_path() / (".tmp-" + std::to_string(getpid()) + "-" + std::to_string(counter++) + "-lease");
  int fd = open_new(temporary);
  if (fd < 0) return false;
  bool written = write_and_close(fd, text, inode) && link(temporary.c_str(), file.c_str()) == 0;
  int error = errno;
  unlink(temporary.c_str());
  if (!written && (error == EPERM || error == EOPNOTSUPP || error == ENOSYS)) {
    if ((fd = open_new(file)) < 0) return false;
    written = write_and_close(fd, text, inode);
    error = errno;
    if (!written) unlink(file.c_str());
  }
  errno = error;
  return written;
}

// Moves a stale lease away, unless another process replaced it meanwhile.
void remove_stale(const fs::path& file, ino_t inode) {
  const fs::path aside = file.string() + "-" + std::to_string(getpid());
  if (rename(file.c_str(), aside.c_str()) != 0) return;
  struct stat moved {};
  if (lstat(aside.c_str(), &moved) == 0 && moved.st_ino != inode) {
    [[maybe_unused]] const int back = link(aside.c_str(), file.c_str());
  }
  unlink(aside.c_str());
}

}  // namespace

Result<std::unique_ptr<FolderLease>> FolderLease::take(const fs::path& folder, bool* taken) {
  if (taken) *taken = false;
  constexpr int kAttempts = 10;
  const fs::path file = folder / ".lease";
  const Holder self = this_process();
  const std::string text = Json{{"host", self.host},
                                {"pid", self.pid},
                                {"boot_id", self.boot_id},
                                {"pid_namespace", self.processes}}
                               .dump(2, ' ', false, Json::error_handler_t::replace) +
                           "\n";
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    ino_t inode = 0;
    if (write_new(file, text, inode)) return std::unique_ptr<FolderLease>(new FolderLease(file, text, inode));
    if (errno != EEXIST) return cannot_write(file);
    const WorkPath there = WorkPath(folder) / ".lease";
    const FileKind kind = kind_of(there);
    if (kind != FileKind::file && kind != FileKind::none) return Problem{read_file(there).problem()};
    if (!is_stale(file, inode)) break;
    remove_stale(file, inode);
  }
  if (taken) *taken = true;
  const Holder other = holder_of(file);
  return Problem{folder.string() + ": another process is at work there (process " +
                 std::to_string(other.pid) + " on " + printable(other.host) +
                 "); wait for it or name another folder"};
}

bool FolderLease::is_taken(const fs::path& folder) {
  ino_t inode = 0;
  return age_of(folder / ".lease", inode) && !is_stale(folder / ".lease", inode);
}

FolderLease::FolderLease(fs::path file, std::string text, ino_t inode)
    : file_(std::move(file)),
      text_(std::move(text)),
      inode_(inode),
      renewing_([this](const std::stop_token& stop) { renew(stop); }) {}

void FolderLease::stop_renewing() {
  renewing_.request_stop();
  if (renewing_.joinable()) renewing_.join();
}

FolderLease::~FolderLease() {
  stop_renewing();
  ino_t inode = 0;
  if (age_of(file_, inode) && inode == inode_ && !left_) unlink(file_.c_str());
}

// In place, over bytes that the file has already, and not longer: a file system that is full takes that. The
// time makes it a lease of nobody, on every machine.
void FolderLease::leave(std::string_view note) {
  stop_renewing();
  std::string text = Json{{kNote, std::string(note)}}.dump();
  if (text.size() >= text_.size()) return;
  text.resize(text_.size() - 1, ' ');
  text += '\n';
  const int fd = open(file_.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  struct stat status {};
  const timespec long_ago[] = {{1, 0}, {1, 0}};
  left_ = fstat(fd, &status) == 0 && status.st_ino == inode_ &&
          pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
          futimens(fd, long_ago) == 0 && fsync(fd) == 0;
  close(fd);
}

std::string FolderLease::note_in(const fs::path& folder) {
  const auto text = read_file(WorkPath(folder) / ".lease");
  const Json json = text ? parse_record(*text) : Json();
  const auto note = json.is_object() ? json.find(kNote) : json.end();
  return note != json.end() && note->is_string() ? note->get<std::string>() : "";
}

void FolderLease::renew(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  for (;;) {
    stopped.wait_for(lock, stop, std::chrono::seconds(kRenewSeconds), [] { return false; });
    if (stop.stop_requested()) return;
    ino_t inode = 0;
    const auto age = age_of(file_, inode);
    if (!age) {
      if (errno == ENOENT) write_new(file_, text_, inode_);
      continue;
    }
    if (inode != inode_) {
      lost_ = true;
      return;
    }
    utimensat(AT_FDCWD, file_.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  }
}

}  // namespace fusesmith::fuzz
