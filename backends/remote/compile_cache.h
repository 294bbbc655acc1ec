// The folder in which the compilers of one worker process keep what they made. No other worker sees it,
// because a compiler that is killed may leave half a file there, which the next one would load.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "graph/namespaces.h"

namespace fusesmith::backends {

class CompileCache {
 public:
  // In the folder for temporary files.
  CompileCache();
  CompileCache(const CompileCache&) = delete;
  CompileCache& operator=(const CompileCache&) = delete;
  // Removes it.
  ~CompileCache();

  // Removes those of processes of this user that ended without doing so.
  static void remove_left_ones();

  // The environment of a worker that uses it; empty if there is no room for it.
  std::map<std::string, std::string> variables() const;

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace fusesmith::backends
