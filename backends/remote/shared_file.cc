#include "backends/remote/shared_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace fusesmith::backends {

SharedFile::SharedFile(const char* name) : descriptor_(memfd_create(name, MFD_CLOEXEC)) {}

SharedFile::~SharedFile() {
  if (ok()) close(descriptor_);
}

std::string SharedFile::path() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor_);
}

bool SharedFile::write(std::span<const std::span<const std::byte>> parts) {
  if (ftruncate(descriptor_, 0) != 0) return false;
  off_t at = 0;
  for (std::span<const std::byte> part : parts) {
    while (!part.empty()) {
      const ssize_t count = pwrite(descriptor_, part.data(), part.size(), at);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      part = part.subspan(static_cast<size_t>(count));
      at += count;
    }
  }
  return true;
}

uint64_t SharedFile::size() const {
  struct stat status {};
  return fstat(descriptor_, &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

bool SharedFile::read(std::span<std::byte> bytes) const {
  off_t at = 0;
  while (!bytes.empty()) {
    const ssize_t count = pread(descriptor_, bytes.data(), bytes.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(count));
    at += count;
  }
  return true;
}

}  // namespace fusesmith::backends
