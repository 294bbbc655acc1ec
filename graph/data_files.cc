#include "graph/data_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include "graph/sha256.h"

namespace fusesmith::graph {
namespace {

// What cases of this process use.
struct Shared {
  std::mutex mutex;
  struct File {
    std::weak_ptr<const std::byte> first;
    size_t size;
  };
  std::map<std::string, File> files;
};

Shared& shared() {
  static Shared of_process;
  return of_process;
}

Result<DataBytes> of_size(DataBytes bytes, size_t size) {
  if (bytes.size == size) return bytes;
  return Problem{"has " + std::to_string(bytes.size) + " bytes, and its tensor " + std::to_string(size)};
}

std::string system_text() { return std::string("cannot be read: ") + std::strerror(errno); }

Result<DataBytes> read_bytes(const std::string& path, size_t size) {
  // Without O_NONBLOCK, opening a pipe that has no writer would block.
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return Problem{system_text()};
  const std::unique_ptr<const int, void (*)(const int*)> closed(&file, [](const int* f) { ::close(*f); });
  struct stat status = {};
  if (::fstat(file, &status) != 0) return Problem{system_text()};
  if (!S_ISREG(status.st_mode)) return Problem{"is no regular file"};
  const DataBytes there{{}, static_cast<size_t>(status.st_size)};
  if (const auto wrong = of_size(there, size); !wrong) return wrong;
  const auto bytes = std::make_shared<std::vector<std::byte>>(size);
  for (size_t at = 0; at < size;) {
    const ssize_t count = ::read(file, bytes->data() + at, size - at);
    if (count == 0) return Problem{"became shorter while it was read"};
    if (count > 0)
      at += static_cast<size_t>(count);
    else if (errno != EINTR)
      return Problem{system_text()};
  }
  return DataBytes{{bytes, bytes->data()}, size};
}

}  // namespace

DataFiles DataFiles::beside(const std::filesystem::path& case_file) {
  DataFiles files;
  std::error_code error;
  const auto whole = std::filesystem::absolute(case_file, error);
  files.folder_ = error ? case_file.parent_path() : whole.lexically_normal().parent_path();
  return files;
}

std::filesystem::path DataFiles::path(const std::string& sha256) const {
  std::filesystem::path folder = folder_;
  for (int i = 0; i <= kFoldersAbove; ++i) {
    const auto file = folder / kDataFolder / sha256;
    std::error_code error;
    if (std::filesystem::exists(file, error)) return file;
    folder = folder.parent_path();
  }
  return folder_ / kDataFolder / sha256;
}

DataBytes DataFiles::in_use(const std::string& sha256) {
  const std::scoped_lock lock(shared().mutex);
  const auto found = shared().files.find(sha256);
  if (found == shared().files.end()) return {};
  return {found->second.first.lock(), found->second.size};
}

Result<DataBytes> DataFiles::find(const std::string& sha256, size_t size) const {
  if (DataBytes bytes = in_use(sha256); bytes.known()) {
    auto whole = of_size(std::move(bytes), size);
    return whole ? whole : Result<DataBytes>(Problem{"the data file " + whole.problem()});
  }
  if (folder_.empty()) return Problem{"its data is in a file, which is only looked for beside a case file"};
  const std::string file = path(sha256).string();
  auto bytes = read_bytes(file, size);
  if (!bytes) return Problem{file + " " + bytes.problem()};
  if (graph::sha256(bytes->span()) != sha256) return Problem{file + " has other content than its name says"};
  share_data(sha256, *bytes);
  return bytes;
}

void share_data(const std::string& sha256, const DataBytes& bytes) {
  const std::scoped_lock lock(shared().mutex);
  std::erase_if(shared().files, [](const auto& entry) { return entry.second.first.expired(); });
  shared().files[sha256] = {bytes.first, bytes.size};
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace fusesmith::graph
