#include "fuzz/base/folder_walk.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "backends/remote/open_folder.h"

namespace fusesmith::fuzz {
namespace {

Problem cannot_list(const std::string& folder, int error) {
  return Problem{folder + ": cannot list: " + std::strerror(error)};
}

// Not every file system says in its lists what an entry is.
FolderItem item_at(std::string path, unsigned char kind) {
  if (kind != DT_UNKNOWN) return {std::move(path), kind == DT_DIR, kind == DT_LNK};
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return {std::move(path)};
  return {std::move(path), S_ISDIR(status.st_mode), S_ISLNK(status.st_mode)};
}

}  // namespace

Result<std::vector<FolderItem>> items_below(const std::string& folder) {
  std::vector<FolderItem> items;
  std::vector<std::string> unread = {folder};
  while (!unread.empty()) {
    const std::string at = std::move(unread.back());
    unread.pop_back();
    const backends::OpenFolder opened(opendir(at.c_str()));
    if (!opened) return cannot_list(at, errno);
    const std::string prefix = at.ends_with('/') ? at : at + "/";
    for (errno = 0; const dirent* entry = readdir(opened.get()); errno = 0) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      items.push_back(item_at(prefix + entry->d_name, entry->d_type));
      if (items.back().is_folder) unread.push_back(items.back().path);
    }
    if (errno != 0) return cannot_list(at, errno);
  }
  return items;
}

}  // namespace fusesmith::fuzz
