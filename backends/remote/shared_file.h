// A file in memory that another process opens by its path: large payloads, without copying them through a
// pipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace fusesmith::backends {

// It goes away with this process, however that ends.
class SharedFile {
 public:
  explicit SharedFile(const char* name);
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  ~SharedFile();

  bool ok() const { return descriptor_ >= 0; }
  // For any process of the same user.
  std::string path() const;
  // Replaces the contents.
  bool write(std::span<const std::span<const std::byte>> parts);
  // In bytes, as the other process left it.
  uint64_t size() const;
  // Its first bytes, which the other process may cut off meanwhile: the file is not mapped. False if there
  // are fewer.
  bool read(std::span<std::byte> bytes) const;

 private:
  int descriptor_ = -1;
};

}  // namespace fusesmith::backends
