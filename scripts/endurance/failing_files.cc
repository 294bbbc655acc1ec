// Preloaded by disk_faults and kill_campaign: makes calls of the file system fail, or kills
// the process before one. Counts the calls that create, write, sync, rename or lock a file or make a folder
// below a folder.
//
//   FAIL_FOLDER  only calls on paths that contain this
//   FAIL_CALL    open (to create), write, fsync, rename, mkdir or flock
//   FAIL_ERRNO   the number of the error; a write that fails with ENOSPC has written a half before
//   FAIL_FROM    the first of these calls that fails, from 1
//   FAIL_TO      the last one (default: all that follow)
//   FAIL_IN      only in processes with this word of their command line: "fuzz" is the supervisor
//   KILL_AT      SIGKILL before this one of all counted calls, of whichever kind, from 1
//   FAIL_REPORT  a file to which each process that ends by exit() or _exit() appends the numbers of calls:
//   "fuzz open 3 write 9 ...", the first word being the second of its command line,
//                and before a SIGKILL "killed write"
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

enum Call { kOpen, kWrite, kFsync, kRename, kMkdir, kFlock, kCalls };
constexpr const char* kNames[] = {"open", "write", "fsync", "rename", "mkdir", "flock"};

std::atomic<long> counted[kCalls];
std::atomic<long> all = 0;

const char* text(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

long number(const char* name, long otherwise) {
  const char* value = std::getenv(name);
  return value ? std::atol(value) : otherwise;
}

void append(const char* line, int length) {
  const char* path = std::getenv("FAIL_REPORT");
  if (!path) return;
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  syscall(SYS_write, file, line, static_cast<size_t>(length));
  syscall(SYS_close, file);
}

// The second word of the command line, in `buffer`: "fuzz" in the supervisor, another one in a worker.
const char* role(char* buffer, size_t size) {
  const long file = syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  const long length = file < 0 ? 0 : syscall(SYS_read, file, buffer, size - 1);
  if (file >= 0) syscall(SYS_close, file);
  buffer[length > 0 ? length : 0] = '\0';
  const size_t first = std::strlen(buffer);
  return static_cast<long>(first) < length - 1 ? buffer + first + 1 : "none";
}

bool is_chosen_process() {
  const char* wanted = std::getenv("FAIL_IN");
  if (!wanted) return true;
  char buffer[PATH_MAX];
  return std::strcmp(role(buffer, sizeof buffer), wanted) == 0;
}

void report() {
  char line[512], buffer[PATH_MAX];
  int length = std::snprintf(line, sizeof line, "%.100s ", role(buffer, sizeof buffer));
  for (int call = 0; call < kCalls; ++call)
    length += std::snprintf(line + length, sizeof line - static_cast<size_t>(length), "%s %ld ", kNames[call],
                            counted[call].load());
  line[length - 1] = '\n';
  append(line, length);
}

// Whether this call is to fail, with errno.
bool fails(Call call, const char* path) {
  const char* folder = std::getenv("FAIL_FOLDER");
  if (!folder || !path || !std::strstr(path, folder)) return false;
  static const bool reports = std::atexit(report) == 0;
  static_cast<void>(reports);
  if (++all == number("KILL_AT", 0)) {
    char line[32];
    append(line, std::snprintf(line, sizeof line, "killed %s\n", kNames[call]));
    kill(getpid(), SIGKILL);
    pause();
  }
  const long count = ++counted[call];
  if (std::strcmp(kNames[call], text("FAIL_CALL", "")) != 0) return false;
  static const bool chosen = is_chosen_process();
  if (!chosen) return false;
  if (count < number("FAIL_FROM", 1) || count > number("FAIL_TO", LONG_MAX)) return false;
  errno = static_cast<int>(number("FAIL_ERRNO", EIO));
  return true;
}

// The path of a descriptor, in `buffer`.
const char* path_of(int file, char* buffer) {
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, buffer, PATH_MAX);
  if (length < 0) return nullptr;
  buffer[length] = '\0';
  return buffer;
}

bool fails(Call call, int file) {
  char buffer[PATH_MAX + 1];
  const int before = errno;
  const char* path = path_of(file, buffer);
  errno = before;
  return fails(call, path);
}

// A relative path, made absolute so that FAIL_FOLDER fits.
bool fails_at(Call call, const char* path) {
  if (!path || path[0] == '/') return fails(call, path);
  char buffer[2 * PATH_MAX];
  const int before = errno;
  if (!getcwd(buffer, PATH_MAX)) return false;
  std::strcat(buffer, "/");
  std::strncat(buffer, path, PATH_MAX - 1);
  errno = before;
  return fails(call, buffer);
}

// A path below the folder of a descriptor.
bool fails_in(Call call, int folder, const char* path) {
  if (folder == AT_FDCWD || !path || path[0] == '/') return fails_at(call, path);
  char buffer[2 * PATH_MAX + 2];
  const int before = errno;
  const bool known = path_of(folder, buffer);
  errno = before;
  if (!known) return false;
  std::strcat(buffer, "/");
  std::strncat(buffer, path, PATH_MAX - 1);
  return fails(call, buffer);
}

template <class F>
F next(F, const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  static const auto real = next(&open, "open");
  mode_t mode = 0;
  if (flags & O_CREAT) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
    if (fails_at(kOpen, path)) return -1;
  }
  return real(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  static const auto real = next(&openat, "openat");
  mode_t mode = 0;
  if (flags & O_CREAT) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
    if (fails_in(kOpen, folder, path)) return -1;
  }
  return real(folder, path, flags, mode);
}

ssize_t write(int file, const void* bytes, size_t count) {
  static const auto real = next(&write, "write");
  if (file > STDERR_FILENO && fails(kWrite, file)) {
    const int error = errno;
    if (error == ENOSPC && count > 1) {
      [[maybe_unused]] const ssize_t half = real(file, bytes, count / 2);
    }
    errno = error;
    return -1;
  }
  return real(file, bytes, count);
}

int fsync(int file) {
  static const auto real = next(&fsync, "fsync");
  return fails(kFsync, file) ? -1 : real(file);
}

int rename(const char* from, const char* to) {
  static const auto real = next(&rename, "rename");
  return fails_at(kRename, to) ? -1 : real(from, to);
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  static const auto real = next(&renameat, "renameat");
  return fails_in(kRename, to_folder, to) ? -1 : real(from_folder, from, to_folder, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  static const auto real = next(&renameat2, "renameat2");
  return fails_in(kRename, to_folder, to) ? -1 : real(from_folder, from, to_folder, to, flags);
}

int mkdir(const char* path, mode_t mode) {
  static const auto real = next(&mkdir, "mkdir");
  return fails_at(kMkdir, path) ? -1 : real(path, mode);
}

int mkdirat(int folder, const char* path, mode_t mode) {
  static const auto real = next(&mkdirat, "mkdirat");
  return fails_in(kMkdir, folder, path) ? -1 : real(folder, path, mode);
}

[[noreturn]] void _exit(int code) {
  report();
  syscall(SYS_exit_group, code);
  __builtin_unreachable();
}

int flock(int file, int operation) {
  static const auto real = next(&flock, "flock");
  return fails(kFlock, file) ? -1 : real(file, operation);
}

}  // extern "C"
