// Files that a campaign cannot write now, because the disk is full or gone: kept in memory, in their order,
// until they can be written. All functions may be called from any thread.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "fuzz/base/work_path.h"
#include "graph/result.h"

namespace fusesmith::fuzz {

class HeldFiles {
 public:
  static constexpr size_t kMostBytes = size_t{64} << 20;

  // All files are below `root`. Folders between are made where they are gone, but never `root` itself: who
  // removed it may bring it back.
  explicit HeldFiles(WorkPath root, size_t most_bytes = kMostBytes)
      : root_(std::move(root)), most_bytes_(most_bytes) {}

  // Writes the file, or holds it where it cannot be written, or others are held. False: it is held. The
  // problem: there is no room for it, either.
  Result<bool> write(const WorkPath& file, std::string text);
  // Writes what is held, first what was first. The problem is that of the first file that cannot be written.
  std::optional<Problem> retry();
  size_t count() const;

 private:
  struct Held {
    WorkPath file;
    std::string text;
  };
  std::optional<Problem> write_now(const Held& held) const;

  const WorkPath root_;
  const size_t most_bytes_;
  mutable std::mutex mutex_;  // of what follows
  std::deque<Held> held_;
  size_t bytes_ = 0;
};

}  // namespace fusesmith::fuzz
