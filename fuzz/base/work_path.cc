#include "fuzz/base/work_path.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

namespace fusesmith::fuzz {

namespace fs = std::filesystem;

namespace {

// To go through a folder, the right to search it is enough.
#ifdef O_PATH
constexpr int kSearch = O_PATH;
#else
constexpr int kSearch = O_RDONLY;
#endif
constexpr size_t kPiece = size_t{1} << 16;

bool is_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

std::string joined(std::string folder, const std::string& name) {
  if (!folder.empty() && !folder.ends_with('/')) folder += '/';
  return folder + name;
}

// Why a path cannot be followed, and up to where it could.
struct Failure {
  std::string at;
  int error = 0;
  bool is_link = false;

  // Throws std::bad_alloc where memory was short: that says nothing about the path.
  Problem problem(std::string_view verb) const {
    if (error == ENOMEM) throw std::bad_alloc();
    return {
        at + ": cannot " + std::string(verb) + ": " +
        (is_link ? "it is a link, and links in work directories are not followed" : std::strerror(error))};
  }
};

Problem problem(const WorkPath& path, std::string_view verb, int error) {
  return Failure{path.string(), error}.problem(verb);
}

bool status_at(int folder, const std::string& name, struct stat& status) {
  return ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

bool is_link_at(int folder, const std::string& name) {
  struct stat status {};
  return status_at(folder, name, status) && S_ISLNK(status.st_mode);
}

// The first `count` names are folders; the last one of these is opened with `flags`.
Descriptor enter(const WorkPath& path, size_t count, int flags, Failure& failure) {
  const auto with = [&](size_t i) { return O_DIRECTORY | O_CLOEXEC | (i == count ? flags : kSearch); };
  failure.at = path.root().string();
  Descriptor now(::open(failure.at.empty() ? "." : failure.at.c_str(), with(0)));
  if (!now.ok()) failure.error = errno;
  for (size_t i = 0; now.ok() && i < count; ++i) {
    const std::string& name = path.names()[i];
    failure.at = joined(failure.at, name);
    Descriptor next(is_name(name) ? ::openat(now.get(), name.c_str(), with(i + 1) | O_NOFOLLOW) : -1);
    if (!next.ok()) {
      failure.error = is_name(name) ? errno : ENOENT;
      failure.is_link = failure.error != ENOENT && is_link_at(now.get(), name);
    }
    now = std::move(next);
  }
  return now;
}

// The folder that holds the file, and the file's name there.
struct Place {
  Descriptor folder;
  std::string name;
  Failure failure;

  Place(const WorkPath& path, int flags) : name(path.name()) {
    const size_t count = path.names().size();
    if (count == 0) {  // the root is the user's: as it is named
      const fs::path above = path.root().parent_path();
      folder = Descriptor(::open(above.empty() ? "." : above.c_str(), O_DIRECTORY | O_CLOEXEC | flags));
      if (!folder.ok()) failure = {path.root().string(), errno};
    } else {
      folder = enter(path, count - 1, flags, failure);
    }
    if (!folder.ok() && !failure.is_link) failure.at = path.string();
    if (folder.ok() && !is_name(name)) {
      folder = Descriptor();
      failure = {path.string(), ENOENT};
    }
  }
};

std::optional<Problem> sync(int folder, const WorkPath& path) {
  // Some file systems refuse to sync folders (EINVAL): the rename is then as durable as they make it.
  if (::fsync(folder) == 0 || errno == EINVAL) return {};
  return problem(path, "sync", errno);
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

// A new file beside the one of this name; never one that is there already, whatever it links to.
Descriptor open_temporary(const Place& place, std::string& temporary) {
  constexpr int kAttempts = 100;  // names that a killed process of the same id left
  static std::atomic<unsigned> counter = 0;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    temporary = std::string(kTemporary) + std::to_string(::getpid()) + "-" + std::to_string(counter++) + "-" +
                place.name;
    Descriptor file(::openat(place.folder.get(), temporary.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (file.ok() || errno != EEXIST) return file;
  }
  return Descriptor();
}

// `fill` writes the contents, and tells whether it could, or else leaves errno.
template <class Fill>
std::optional<Problem> replace(const WorkPath& path, const Fill& fill) {
  const Place place(path, O_RDONLY);
  if (!place.folder.ok()) return place.failure.problem("write");
  std::string temporary;
  Descriptor file = open_temporary(place, temporary);
  if (!file.ok()) return problem(path, "write", errno);
  const int folder = place.folder.get();
  if (!fill(file.get()) || ::fsync(file.get()) != 0 || !file.close() ||
      ::renameat(folder, temporary.c_str(), folder, place.name.c_str()) != 0) {
    const int error = errno;
    ::unlinkat(folder, temporary.c_str(), 0);
    return problem(path, "write", error);
  }
  return sync(folder, path);
}

Problem too_large(const WorkPath& file) {
  return {file.string() + ": cannot read: larger than " + std::to_string(kMaxWorkFile >> 20) + " MiB"};
}

Result<Descriptor> open_to_read(const WorkPath& file, uint64_t& size) {
  auto opened = open_file(file, O_RDONLY, "read");
  if (!opened) return opened;
  struct stat status {};
  if (::fstat(opened->get(), &status) != 0) return problem(file, "read", errno);
  size = static_cast<uint64_t>(std::max<off_t>(status.st_size, 0));
  if (size > kMaxWorkFile) return too_large(file);
  return opened;
}

}  // namespace

WorkPath WorkPath::operator/(const std::string& name) const {
  WorkPath below = *this;
  below.names_.push_back(name);
  return below;
}

WorkPath WorkPath::folder() const {
  WorkPath above = *this;
  above.names_.pop_back();
  return above;
}

std::string WorkPath::string() const {
  std::string path = root_.string();
  for (const std::string& name : names_) path = joined(path, name);
  return path;
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

bool Descriptor::close() { return fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0; }

bool status_of(const WorkPath& path, struct stat& status) {
  if (path.names().empty()) return ::stat(path.root().c_str(), &status) == 0;
  const Place place(path, kSearch);
  if (place.folder.ok()) return status_at(place.folder.get(), place.name, status);
  errno = place.failure.is_link ? ELOOP : place.failure.error;
  return false;
}

FileKind kind_of(const WorkPath& path) {
  struct stat status {};
  if (!status_of(path, status))
    return errno == ENOENT || errno == ENOTDIR ? FileKind::none : FileKind::unknown;
  if (S_ISLNK(status.st_mode)) return FileKind::link;
  if (S_ISDIR(status.st_mode)) return FileKind::folder;
  return S_ISREG(status.st_mode) ? FileKind::file : FileKind::other;
}

bool is_there(const WorkPath& path) {
  const FileKind kind = kind_of(path);
  return kind != FileKind::none && kind != FileKind::unknown;
}

Result<Descriptor> open_file(const WorkPath& file, int flags, std::string_view verb) {
  const Place place(file, kSearch);
  if (!place.folder.ok()) return place.failure.problem(verb);
  const auto refuse = [&](const char* why) {
    return Problem{file.string() + ": cannot " + std::string(verb) + ": " + why};
  };
  struct stat status {};
  // Before it is opened: to open a device may have effects.
  if (status_of(file, status)) {
    if (S_ISLNK(status.st_mode)) return Failure{file.string(), ELOOP, true}.problem(verb);
    if (!S_ISREG(status.st_mode)) return refuse("not a regular file");
  }
  const int safe = (file.names().empty() ? 0 : O_NOFOLLOW) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  Descriptor opened(::openat(place.folder.get(), place.name.c_str(), flags | safe, 0666));
  if (!opened.ok() || ::fstat(opened.get(), &status) != 0) return problem(file, verb, errno);
  if (!S_ISREG(status.st_mode)) return refuse("not a regular file");
  const bool writes = (flags & O_ACCMODE) == O_WRONLY;
  if (writes && status.st_nlink > 1) return refuse("it has another name as well (a hard link)");
  return opened;
}

Result<Descriptor> open_folder(const WorkPath& folder, std::string_view verb) {
  Failure failure;
  Descriptor opened = enter(folder, folder.names().size(), O_RDONLY, failure);
  if (!opened.ok()) return failure.problem(verb);
  return opened;
}

Result<std::string> read_file(const WorkPath& file) {
  uint64_t size = 0;
  const auto opened = open_to_read(file, size);
  if (!opened) return Problem{opened.problem()};
  std::string text;
  text.reserve(size + 1);
  std::array<char, kPiece> buffer{};
  for (;;) {
    const ssize_t count = ::read(opened->get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return problem(file, "read", errno);
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(count));
    if (text.size() > kMaxWorkFile) return too_large(file);
  }
}

Result<uint64_t> size_of(const WorkPath& file) {
  uint64_t size = 0;
  const auto opened = open_to_read(file, size);
  if (!opened) return Problem{opened.problem()};
  return size;
}

std::optional<Problem> write_file(const WorkPath& file, std::string_view text) {
  return replace(file, [&](int fd) { return write_all(fd, text); });
}

std::optional<Problem> write_if_changed(const WorkPath& file, std::string_view text) {
  const auto there = read_file(file);
  if (there && *there == text) return {};
  return write_file(file, text);
}

std::optional<Problem> copy_file(const WorkPath& from, const WorkPath& to, bool* unread) {
  uint64_t size = 0;
  const auto opened = open_to_read(from, size);
  if (unread) *unread = !opened;
  if (!opened) return Problem{opened.problem()};
  std::optional<Problem> of_reading;
  auto unwritten = replace(to, [&](int fd) {
    std::array<char, kPiece> buffer{};
    uint64_t copied = 0;
    for (;;) {
      const ssize_t count = ::read(opened->get(), buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) of_reading = problem(from, "read", errno);
      copied += static_cast<uint64_t>(std::max<ssize_t>(count, 0));
      if (copied > kMaxWorkFile) of_reading = too_large(from);
      if (of_reading || count == 0) return !of_reading;
      if (!write_all(fd, {buffer.data(), static_cast<size_t>(count)})) return false;
    }
  });
  if (unread) *unread = of_reading.has_value();
  return of_reading ? of_reading : unwritten;
}

std::optional<Problem> make_folder(const WorkPath& folder) {
  Failure failure;
  if (enter(folder, folder.names().size(), kSearch, failure).ok()) return {};
  std::error_code error;
  if (fs::create_directories(folder.root(), error) || error) {
    if (error) return problem(WorkPath(folder.root()), "make the folder", error.value());
    const Place above(WorkPath(folder.root()), O_RDONLY);
    if (above.folder.ok()) {
      if (auto unsynced = sync(above.folder.get(), WorkPath(folder.root()))) return unsynced;
    }
  }
  WorkPath path(folder.root());
  for (const std::string& name : folder.names()) {
    const WorkPath below = path / name;
    const Place place(below, O_RDONLY);
    if (!place.folder.ok()) return place.failure.problem("make the folder");
    path = below;
    struct stat status {};
    if (status_at(place.folder.get(), name, status)) continue;
    if (::mkdirat(place.folder.get(), name.c_str(), 0777) == 0) {
      if (auto unsynced = sync(place.folder.get(), below.folder())) return unsynced;
    } else if (errno != EEXIST) {
      return problem(below, "make the folder", errno);
    }
  }
  const Descriptor there = enter(folder, folder.names().size(), kSearch, failure);
  return there.ok() ? std::nullopt : std::optional(failure.problem("make the folder"));
}

Result<std::vector<std::string>> names_in(const WorkPath& folder) {
  auto opened = open_folder(folder, "list");
  if (!opened) return Problem{opened.problem()};
  const auto closed = [](DIR* stream) { ::closedir(stream); };
  const int again = ::dup(opened->get());  // which the stream closes
  const std::unique_ptr<DIR, decltype(closed)> stream(again < 0 ? nullptr : ::fdopendir(again), closed);
  if (!stream) return problem(folder, "list", errno);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (!entry && errno != 0) return problem(folder, "list", errno);
    if (!entry) return names;
    const std::string name = static_cast<const char*>(entry->d_name);
    if (is_name(name)) names.push_back(name);
  }
}

std::optional<Problem> move_file(const WorkPath& from, const WorkPath& to, bool* taken) {
  if (taken) *taken = false;
  const Place source(from, O_RDONLY), target(to, O_RDONLY);
  for (const Place* place : {&source, &target}) {
    if (!place->folder.ok()) return place->failure.problem("rename");
  }
  const int in = source.folder.get(), out = target.folder.get();
  int failed = -1;
#ifdef RENAME_NOREPLACE
  failed = ::renameat2(in, source.name.c_str(), out, target.name.c_str(), RENAME_NOREPLACE);
  const bool unsupported = failed != 0 && (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP);
#else
  const bool unsupported = true;
#endif
  if (unsupported) {
    struct stat status {};
    const bool is_new = !status_at(out, target.name, status) && errno == ENOENT;
    failed = is_new ? ::renameat(in, source.name.c_str(), out, target.name.c_str()) : -1;
    if (!is_new) errno = EEXIST;
  }
  if (failed != 0) {
    if (taken) *taken = errno == EEXIST;
    return problem(errno == EEXIST ? to : from, "rename", errno);
  }
  if (auto unsynced = sync(in, from)) return unsynced;
  return sync(out, to);
}

std::optional<Problem> remove_file(const WorkPath& file) {
  const Place place(file, kSearch);
  if (!place.folder.ok() && place.failure.error == ENOENT) return {};
  if (!place.folder.ok()) return place.failure.problem("remove");
  if (::unlinkat(place.folder.get(), place.name.c_str(), 0) == 0 || errno == ENOENT) return {};
  return problem(file, "remove", errno);
}

std::optional<Problem> remove_folder(const WorkPath& folder) {
  const Place place(folder, kSearch);
  if (!place.folder.ok() && place.failure.error == ENOENT) return {};
  if (!place.folder.ok()) return place.failure.problem("remove");
  if (::unlinkat(place.folder.get(), place.name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  return problem(folder, "remove", errno);
}

bool is_temporary_name(const std::string& name) {
  size_t at = kTemporary.size();
  if (!name.starts_with(kTemporary)) return false;
  for (int i = 0; i < 2; ++i) {
    const size_t end = name.find_first_not_of("0123456789", at);
    if (end == at || end == std::string::npos || name[end] != '-') return false;
    at = end + 1;
  }
  return true;
}

void remove_temporary_files(const WorkPath& folder) {
  const auto names = names_in(folder);
  if (!names) return;
  for (const std::string& name : *names) {
    if (is_temporary_name(name) && kind_of(folder / name) == FileKind::file) (void)remove_file(folder / name);
  }
}

}  // namespace fusesmith::fuzz
