// What is below a folder. By readdir(3), since the iterators of libstdc++ end the program where memory runs
// out.
#pragma once

#include <string>
#include <vector>

#include "graph/result.h"

namespace fusesmith::fuzz {

struct FolderItem {
  std::string path;  // starts with the folder's
  bool is_folder = false, is_link = false;
};

// At any depth and in no order. Links are listed and not followed.
Result<std::vector<FolderItem>> items_below(const std::string& folder);

}  // namespace fusesmith::fuzz
