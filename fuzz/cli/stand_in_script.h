// Shell scripts in place of the Python scripts that commands call, for tests of these commands.
#pragma once

#include <stdlib.h>

#include <string>

#include "backends/remote/frame.h"
#include "fuzz/cli/test_support.h"

namespace fusesmith::fuzz {

// A case of one node, as scripts get and return cases.
inline constexpr const char* kReluCase = R"({"fusesmith": 1, "graph": {
  "inputs": [{"name": "x", "type": "f32[2,3]", "fill": {"normal": {}}}],
  "nodes": [{"name": "y", "op": "relu", "inputs": ["x"]}], "outputs": ["y"]}})";

// While this lives, /bin/sh stands for Python and its folder for that of the workers.
class StandInScript {
 public:
  explicit StandInScript(std::string name) : name_(std::move(name)) {
    setenv("FUSESMITH_PYTHON", "/bin/sh", 1);
    setenv("FUSESMITH_WORKERS", folder_.string().c_str(), 1);
  }
  StandInScript(const StandInScript&) = delete;
  StandInScript& operator=(const StandInScript&) = delete;
  ~StandInScript() {
    unsetenv("FUSESMITH_PYTHON");
    unsetenv("FUSESMITH_WORKERS");
  }

  // What the shell runs instead of the script.
  void runs(const std::string& text) const { folder_.file(name_, text); }

  // It replies with this header, which is JSON, and this payload.
  void replies(const std::string& header, const std::string& payload) const {
    const auto start = backends::frame_start(header, payload.size());
    const std::string bytes(reinterpret_cast<const char*>(start.data()), start.size());
    runs("cat '" + folder_.file("reply", bytes + payload) + "'");
  }

 private:
  const std::string name_;
  const TemporaryFolder folder_;
};

}  // namespace fusesmith::fuzz
