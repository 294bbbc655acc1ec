// Files of a work directory, and of any other folder whose contents come from somebody else: opened, listed,
// copied, renamed and removed without ever following a link below the folder that the user named. The folder
// itself may be a link, and so may what is above it. What is no regular file is never opened: a pipe or a
// device would block, or answer for ever.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/namespaces.h"
#include "graph/result.h"

namespace fusesmith::fuzz {

// What the names of files that are not whole yet begin with.
inline constexpr std::string_view kTemporary = ".tmp-";

// A folder that the user named, and the names that lead from there to a file or a folder. A name that could
// lead elsewhere ("..", "a/b") leads nowhere: nothing is there, and nothing can be written there.
class WorkPath {
 public:
  explicit WorkPath(std::filesystem::path root = {}) : root_(std::move(root)) {}
  WorkPath operator/(const std::string& name) const;

  const std::filesystem::path& root() const { return root_; }
  const std::vector<std::string>& names() const { return names_; }
  WorkPath folder() const;  // not of the root
  std::string name() const { return names_.empty() ? root_.filename().string() : names_.back(); }
  std::string string() const;  // for people, and for programs that are told of the file
  bool operator==(const WorkPath&) const = default;

 private:
  std::filesystem::path root_;
  std::vector<std::string> names_;
};

// An open file or folder, closed on destruction.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }
  bool ok() const { return fd_ >= 0; }
  int get() const { return fd_; }
  // Whether that went well.
  bool close();

 private:
  int fd_;
};

// lstat(2); of the root, stat(2). False, with errno: ELOOP where a folder on the way is a link.
bool status_of(const WorkPath& path, struct stat& status);

// unknown: it cannot be told, for example because a folder on the way is a link.
enum class FileKind : uint8_t { none, file, folder, link, other, unknown };
FileKind kind_of(const WorkPath& path);
// Whether there is something of this name, and be it a link that leads nowhere.
bool is_there(const WorkPath& path);

// A regular file, opened with these flags of open(2); with O_CREAT it is made. One that other folders have
// under another name as well (a hard link) is not opened to be written. `verb`: what the problem says cannot
// be done.
Result<Descriptor> open_file(const WorkPath& file, int flags, std::string_view verb);
// To list, sync or change what is in it.
Result<Descriptor> open_folder(const WorkPath& folder, std::string_view verb);

// A regular file of at most this size, which is more than any that fusesmith writes into a work directory.
inline constexpr uint64_t kMaxWorkFile = uint64_t{64} << 20;
Result<std::string> read_file(const WorkPath& file);
// Its size, if read_file could read it.
Result<uint64_t> size_of(const WorkPath& file);

// As the functions of fuzz/base/files.h.
std::optional<Problem> write_file(const WorkPath& file, std::string_view text);
std::optional<Problem> write_if_changed(const WorkPath& file, std::string_view text);
std::optional<Problem> make_folder(const WorkPath& folder);
void remove_temporary_files(const WorkPath& folder);

// Names of what is directly in the folder, in any order.
Result<std::vector<std::string>> names_in(const WorkPath& folder);

// Whole or not at all, in pieces; what read_file would refuse is refused. `unread`: whether the problem is
// one of reading.
std::optional<Problem> copy_file(const WorkPath& from, const WorkPath& to, bool* unread = nullptr);

// A file, a link or a folder gets another name. There must be nothing of that name, which is checked in the
// same step where the file system can do so; `taken` tells whether there is.
std::optional<Problem> move_file(const WorkPath& from, const WorkPath& to, bool* taken = nullptr);

// A file or a link; a folder is a problem. Fine where there is none.
std::optional<Problem> remove_file(const WorkPath& file);
// An empty one. Fine where there is none.
std::optional<Problem> remove_folder(const WorkPath& folder);

// Whether a file has a name that write_file uses meanwhile.
bool is_temporary_name(const std::string& name);

}  // namespace fusesmith::fuzz
