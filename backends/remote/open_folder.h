// A folder that readdir(3) reads: libstdc++'s directory iterators end the program where memory runs out.
#pragma once

#include <dirent.h>

#include <memory>

#include "graph/namespaces.h"

namespace fusesmith::backends {

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using OpenFolder = std::unique_ptr<DIR, CloseFolder>;

}  // namespace fusesmith::backends
