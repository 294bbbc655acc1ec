// The files of a work directory by which people and monitoring watch a campaign: log.jsonl, metrics.prom and
// plot_data (docs/workdir.md). Nothing is read back from them, and a campaign goes on if they cannot be
// written.
#pragma once

#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/counts/stats.h"
#include "fuzz/workdir/campaign_options.h"
#include "fuzz/workdir/event_log.h"
#include "fuzz/workdir/plot_data.h"

namespace fusesmith::fuzz {

class CampaignFiles {
 public:
  CampaignFiles(WorkPath workdir, const CampaignOptions& options);

  // May be called from any thread.
  void log(EventLog::Level level, const std::string& event, const nlohmann::ordered_json& fields) {
    log_.write(level, event, fields);
  }
  void log_case(const std::string& name, const CaseOutcome& outcome);

  // metrics.prom, a line of plot_data where one is due, and a line of the log where workers were restarted.
  // Called whenever stats.json is written, by one thread.
  void save(const Stats& stats);
  // What could not be written, each file's problem once.
  std::vector<std::string> take_problems() { return std::exchange(new_problems_, {}); }

 private:
  void log_problem(const std::optional<Problem>& problem);

  const WorkPath workdir_;
  const std::string baseline_, candidate_;
  const int64_t processes_;
  EventLog log_;
  PlotData plot_;
  std::set<std::string> problems_;
  std::vector<std::string> new_problems_;
  int64_t restarts_ = 0;
};

}  // namespace fusesmith::fuzz
