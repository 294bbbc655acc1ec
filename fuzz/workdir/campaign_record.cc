#include "fuzz/workdir/campaign_record.h"

#include <cerrno>
#include <nlohmann/json.hpp>

#include "fuzz/base/files.h"
#include "fuzz/base/lease.h"
#include "graph/json_strict.h"

namespace fusesmith::fuzz {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

std::string option_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string text;
  for (const Json& element : value) text += (text.empty() ? "" : ", ") + option_text(element);
  return text;
}

}  // namespace

std::string_view CampaignRecord::state() const {
  if (options.contains("merged_from")) return "merged";
  if (running) return "running";
  if (failed) return kEndingNames[static_cast<size_t>(Ending::failed)];
  if (stats.status && stats.status->ending) return kEndingNames[static_cast<size_t>(*stats.status->ending)];
  const bool said_that_it_runs = stats.status && stats.status->running;
  // Every end saves counts.
  return saved_at == 0 || said_that_it_runs ? "killed" : kEndingNames[static_cast<size_t>(Ending::ended)];
}

Result<CampaignRecord> read_campaign(const fs::path& workdir) {
  CampaignRecord record;
  record.path = workdir;
  const WorkPath root(workdir);
  const auto identity = read_file(root / "campaign.json");
  if (!identity) return Problem{identity.problem() + "; expected a work directory of `fusesmith fuzz`"};
  const Json options = parse_record(*identity);
  if (!options.is_object())
    return Problem{(root / "campaign.json").string() + ": expected the JSON object that a campaign wrote"};
  for (const auto& [key, value] : options.items()) record.options[key] = option_text(value);
  // Before its last counts are read, so that one that ends meanwhile is not taken for killed.
  record.running = FolderLock::is_taken(workdir) || FolderLease::is_taken(workdir);
  record.failed =
      !record.running && FolderLease::note_in(workdir) == kEndingNames[static_cast<size_t>(Ending::failed)];
  const WorkPath stats = root / "stats.json";
  struct stat status {};
  if (!status_of(stats, status) && errno == ENOENT) {
    record.stats = Stats::with_patterns();
  } else {
    record.saved_at = status.st_mtime;
    const auto text = read_file(stats);
    if (!text) return Problem{text.problem()};
    auto parsed = parse_stats(*text);
    if (!parsed) return Problem{stats.string() + ": " + parsed.problem()};
    record.stats = std::move(*parsed);
  }
  return record;
}

}  // namespace fusesmith::fuzz
