#include "fuzz/cli/folder_arguments.h"

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "fuzz/base/escape.h"
#include "fuzz/base/table.h"

namespace fusesmith::fuzz {

void leave_out_files(std::vector<std::string>& folders, Console& console, size_t first) {
  namespace fs = std::filesystem;
  constexpr size_t kMostNames = 3;
  const auto begin = folders.begin() + static_cast<ptrdiff_t>(std::min(first, folders.size()));
  std::error_code ignored;
  const auto is_folder = [&](const std::string& path) { return fs::is_directory(path, ignored); };
  if (std::none_of(begin, folders.end(), is_folder)) return;
  const auto files = std::stable_partition(
      begin, folders.end(), [&](const std::string& path) { return !fs::is_regular_file(path, ignored); });
  std::vector<std::string> names(files, folders.end());
  if (names.empty()) return;
  const auto count = static_cast<int64_t>(names.size());
  if (names.size() > kMostNames) {
    names.resize(kMostNames);
    names.emplace_back("...");
  }
  console.err << "note: " << counted(count, "plain file") << (count == 1 ? " is" : " are")
              << " left out: " << printable(list_text(names)) << "\n";
  folders.erase(files, folders.end());
}

}  // namespace fusesmith::fuzz
