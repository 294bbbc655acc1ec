// log.jsonl of a work directory: what happened, one JSON object a line with time and level (docs/workdir.md).
// The file is rotated, so that it stays small over weeks. A log that cannot be written ends no campaign.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "graph/namespaces.h"

namespace spdlog {
class logger;
}

namespace fusesmith::fuzz {

class EventLog {
 public:
  enum class Level { debug, info, warning, error };

  // `level`: the lowest one that is written, by its name.
  EventLog(const std::filesystem::path& workdir, const std::string& level);

  // May be called from any thread. `fields`: an object, whose members follow the event.
  void write(Level level, const std::string& event, const nlohmann::ordered_json& fields);
  bool writes(Level level) const;

  static std::vector<std::string> level_names();
  // One file may have so many bytes; that many older ones are kept as log.1.jsonl, log.2.jsonl, ...
  static constexpr size_t kMaxBytes = size_t{8} << 20, kOlderFiles = 3;

 private:
  std::shared_ptr<spdlog::logger> log_;  // null: the file cannot be opened
};

}  // namespace fusesmith::fuzz
