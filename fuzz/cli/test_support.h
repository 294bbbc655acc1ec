// What the tests of commands share: the command line called in this process with captured streams, folders
// that go away, and a backend that fails on demand.
#pragma once

#include <stdlib.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/cpu_fused/cpu_fused_backend.h"
#include "backends/device_error.h"
#include "fuzz/base/files.h"
#include "fuzz/cli/command.h"
#include "fuzz/run/backends.h"

namespace fusesmith::fuzz {

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

// cpu_fused as `name`, while this lives in the list of backends; `before` is called before each compilation
// and may throw, as a device would.
class FailingBackend : public Backend {
 public:
  using Before = std::function<void(const Graph&)>;
  explicit FailingBackend(Before before, std::string name = "failing")
      : before_(std::move(before)), name_(std::move(name)), listed_(*this) {}
  // One that cannot run here.
  FailingBackend(std::string name, const std::string& why)
      : name_(std::move(name)), unavailable_(why), listed_(*this) {}

  std::string_view name() const override { return name_; }
  std::string_view doc() const override { return "fails on demand"; }
  std::optional<std::string> unavailable() const override { return unavailable_; }
  Result<std::unique_ptr<Program>> compile(const Graph& graph, const CompileOptions& options) const override {
    if (before_) before_(graph);
    return cpu_fused_backend().compile(graph, options);
  }

 private:
  const Before before_;
  const std::string name_;
  const std::optional<std::string> unavailable_;
  const ListedBackend listed_;
};

[[noreturn]] inline void fail_device() {
  throw DeviceError(DeviceError::Kind::unhealthy, "kernel softmax: an illegal memory access");
}
[[noreturn]] inline void fail_memory() {
  throw DeviceError(DeviceError::Kind::out_of_memory, "cudaMalloc of 3 MiB: out of memory");
}

// The program beside this one, as the build makes them.
inline std::string program() {
  if (const char* path = std::getenv("FUSESMITH_BINARY")) return path;
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fusesmith").string();
}

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

// The exit status of a shell command in which $P is the program; what it prints is left in the folder.
inline int run_shell(const std::string& command, const TemporaryFolder& folder) {
  const int status = std::system(
      ("P='" + program() + "'; { " + command + "; } >'" + (folder / "out") + "' 2>'" + (folder / "err") + "'")
          .c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace fusesmith::fuzz
