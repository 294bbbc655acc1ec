// What the tests of commands share: the command line called in this process with captured streams, and
// folders that go away.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "fuzz/command.h"
#include "fuzz/files.h"

namespace fusesmith {

struct Ran {
  int code;
  std::string out, err;
};

inline Ran fusesmith_command(const std::vector<std::string>& args) {
  std::ostringstream out, err;
  Console console{out, err};
  const int code = run_command_line(args, console);
  return {code, out.str(), err.str()};
}

inline bool is_one_line(const std::string& text) { return text.find('\n') + 1 == text.size(); }

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fusesmith-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string string() const { return path_.string(); }
  // Writes a file in it and returns its path.
  std::string file(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    if (auto problem = write_file(path_ / name, text)) throw std::runtime_error(problem->what);
    return *this / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace fusesmith
