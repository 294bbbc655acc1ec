// Files and folders that the user named. Those of work directories: fuzz/base/work_path.h.
//
// Files appear whole or not at all, whatever kills the program or the machine: written under a temporary
// name in the same folder, synced, renamed, and the folder synced. Errors are one line that names the path
// and what the system said; memory that ran out throws std::bad_alloc.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/base/work_path.h"
#include "graph/namespaces.h"
#include "graph/result.h"

namespace fusesmith::fuzz {

// Replaces the file, if there is one. The folder must exist.
std::optional<Problem> write_file(const std::filesystem::path& path, std::string_view text);

// Makes the folder and those above it; fine when it is there already.
std::optional<Problem> make_folder(const std::filesystem::path& path);

// Refused: folders, devices, files above 256 MiB.
Result<std::string> read_file(const std::filesystem::path& path);

// A path that is no folder as it is; a folder as the cases in it: its *.json, recursively and sorted, without
// pipes and devices, a campaign's campaign.json, stats.json and verdict.json, a case.json that stands beside
// its min.json, and temporary files that a killed writer left. `others`: how many other files a folder has,
// hidden ones not counted.
Result<std::vector<std::string>> list_json(const std::string& path, int64_t* others = nullptr);

// All of standard input, waiting for it; nothing once `stop` says so. More than `limit` bytes are cut off.
Result<std::string> read_standard_input(size_t limit, bool (*stop)());

// Keeps a folder to one process: nothing when another process holds it. Held until destruction, or until the
// process ends.
class FolderLock {
 public:
  // Takes `folder/.lock`. The problem is one line, and `taken` tells whether it is that another process has
  // it; the folder must exist.
  static Result<FolderLock> take(const std::filesystem::path& folder, bool* taken = nullptr);
  // Whether a process holds it now. Writes nothing; false where that cannot be told.
  static bool is_taken(const std::filesystem::path& folder);

 private:
  explicit FolderLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

}  // namespace fusesmith::fuzz
