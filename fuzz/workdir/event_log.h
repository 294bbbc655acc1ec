// log.jsonl of a work directory: what happened, one JSON object a line with time and level (docs/workdir.md).
// The file is rotated, so that it stays small over weeks. A log that cannot be written ends no campaign.
#pragma once

#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/base/work_path.h"
#include "graph/namespaces.h"

namespace fusesmith::fuzz {

class EventLog {
 public:
  enum class Level { debug, info, warning, error };

  // `level`: the lowest one that is written, by its name.
  EventLog(const WorkPath& workdir, const std::string& level);
  // Why nothing is written, if that is so: the file could not be opened.
  const std::optional<Problem>& problem() const { return problem_; }

  // May be called from any thread. `fields`: an object, whose members follow the event.
  void write(Level level, const std::string& event, const nlohmann::ordered_json& fields);
  bool writes(Level level) const { return !problem_ && level >= lowest_; }

  static std::vector<std::string> level_names();
  // One file may have so many bytes; that many older ones are kept as log.1.jsonl, log.2.jsonl, ...
  static constexpr size_t kMaxBytes = size_t{8} << 20, kOlderFiles = 3;

 private:
  std::optional<Problem> open();
  void rotate();

  const WorkPath workdir_;
  Level lowest_ = Level::info;
  std::optional<Problem> problem_;
  std::mutex mutex_;  // of what follows
  Descriptor file_;
  size_t bytes_ = 0;  // that it has
};

}  // namespace fusesmith::fuzz
