#include "backends/remote/check_protocol.h"

#include <functional>

namespace fusesmith::backends {
namespace {

using Json = nlohmann::json;

// A graph that every worker can be asked for; it may answer that it has no kernel for it.
Json small_graph() {
  return {{"type", "compile"},
          {"graph",
           {{"inputs", {{{"name", "x"}, {"type", "f32[2]"}}}},
            {"states", Json::array()},
            {"nodes", {{{"name", "y"}, {"op", "relu"}, {"inputs", {"x"}}}}},
            {"outputs", {"y"}}}},
          {"types", {{"x", "f32[2]"}, {"y", "f32[2]"}}},
          {"options", {{"tf32", false}}}};
}

}  // namespace

std::vector<ProtocolCheck> check_protocol(const WorkerSpec& spec, double seconds) {
  std::vector<ProtocolCheck> checks;
  std::unique_ptr<WorkerProcess> worker;
  const auto check = [&](const std::string& name, const std::function<std::string()>& problem) {
    if (!checks.empty() && !checks.back().problem.empty()) return;
    try {
      checks.push_back({name, problem()});
    } catch (const WorkerError& error) {
      checks.push_back({name, error.what(), checks.empty() && error.kind() == WorkerError::Kind::died});
    }
  };
  check("answers hello", [&] {
    worker = std::make_unique<WorkerProcess>(spec, seconds);
    return "";
  });
  check("answers an unknown request with an error, and goes on", [&]() -> std::string {
    try {
      worker->ask({{"type", "no_such_request"}}, {}, "error", 0, seconds);
    } catch (const WorkerError& error) {
      if (error.kind() != WorkerError::Kind::failed || !worker->goes_on()) throw;
    }
    return "";
  });
  check("compiles again and again", [&] {
    for (int i = 0; i < 3; ++i) worker->ask(small_graph(), {}, "plan", 0, seconds);
    return "";
  });
  check("ends when its standard input does",
        [&] { return worker->end() ? "" : "it still runs 5 s after the end of its standard input"; });
  return checks;
}

}  // namespace fusesmith::backends
