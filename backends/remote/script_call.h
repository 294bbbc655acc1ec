// Calls a Python script of the folder of workers once: a request on its standard input, and one reply. Both
// are frames of the worker protocol.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/remote/frame.h"

namespace fusesmith::backends {

struct ScriptReply {
  std::string problem =
      {};  // one line: the script is missing, failed, was too late, or replied with an "error"
  bool timed_out = false;
  bool out_of_memory = false;  // as the script says, or its last words
  nlohmann::json header = {};  // an object
  std::vector<std::byte> payload = {};
};

struct ScriptRequest {
  std::string_view script;                  // "import/import_model.py"
  std::vector<std::string> arguments = {};  // of the script
  std::string header = "{}";                // JSON
  std::span<const std::byte> payload = {};
  double seconds = 300;  // for all of it
};

ScriptReply call_script(const ScriptRequest& request);

}  // namespace fusesmith::backends
