// A lease on a folder: a file in it that names the process at work there and is renewed every few seconds. It
// keeps processes apart where locks of the file system do not work, as on some network file systems, and
// processes of different machines.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "graph/result.h"

namespace fusesmith::fuzz {

class FolderLease {
 public:
  // A lease that was not renewed for so long belongs to nobody.
  static constexpr int kStaleSeconds = 60, kRenewSeconds = 10;

  // Writes `folder/.lease`. The problem is one line: another process has a lease that is not stale, or the
  // file cannot be written. A lease of this machine is stale once its process has ended.
  // `taken` tells which of both.
  static Result<std::unique_ptr<FolderLease>> take(const std::filesystem::path& folder,
                                                   bool* taken = nullptr);
  // Whether a process has a lease now. Writes nothing.
  static bool is_taken(const std::filesystem::path& folder);

  FolderLease(const FolderLease&) = delete;
  FolderLease& operator=(const FolderLease&) = delete;
  // Gives it back.
  ~FolderLease();

  // Gives it back with a note, "failed", that stays in the file until the next lease is taken. It takes no
  // space, so that a process whose disk is full can leave it. The file is removed where that fails, too.
  void leave(std::string_view note);
  // The last note; empty where there is none.
  static std::string note_in(const std::filesystem::path& folder);

  // Whether another process took it, because it could not be renewed in time. It is not lost where its file
  // or its folder is gone: it is written again when that is possible.
  bool is_lost() const { return lost_; }

 private:
  FolderLease(std::filesystem::path file, std::string text, ino_t inode);
  void renew(const std::stop_token& stop);
  void stop_renewing();

  const std::filesystem::path file_;
  const std::string text_;
  ino_t inode_;  // of the file that this process wrote; used by the renewing thread while it runs
  std::atomic<bool> lost_ = false;
  bool left_ = false;  // a note
  std::jthread renewing_;
};

}  // namespace fusesmith::fuzz
