// A campaign as its work directory holds it, read by other commands while the campaign may be running.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/counts/stats.h"
#include "graph/result.h"

namespace fusesmith::fuzz {

struct CampaignRecord {
  std::filesystem::path path;
  std::map<std::string, std::string> options;  // of campaign.json, as text: baseline, candidate, seed, ...
  Stats stats;
  int64_t saved_at = 0;  // when stats.json was written, in seconds since 1970
  bool running = false;  // a process holds the folder
  bool failed = false;   // the last one could not save how it ended, and left a note

  // "merged"; "running"; of a campaign that does not run, how it ended (kEndingNames), or "killed" where it
  // could not say that.
  std::string_view state() const;
};

// A problem if the folder has no campaign.json, or one of its two files cannot be read. A campaign that has
// not saved counts yet has none.
Result<CampaignRecord> read_campaign(const std::filesystem::path& workdir);

}  // namespace fusesmith::fuzz
