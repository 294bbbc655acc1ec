// What a campaign was asked for. campaign.json has what decides which cases it judges, and how
// (fuzz/workdir/identity.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fuzz/run/judging.h"
#include "graph/result.h"

namespace fusesmith::fuzz {

// The engine that is none of the generator's (fuzz/campaign/engine.h).
inline constexpr std::string_view kLibFuzzer = "libfuzzer";

struct CampaignOptions {
  JudgeFlags judge = {{}, {}, "lawful", {}, {}};
  uint64_t runs = 0;        // 0: no limit
  uint64_t total_runs = 0;  // with those of earlier starts; 0: no limit
  double max_total_time = 0;
  uint64_t seed = 1;
  int64_t jobs = 0;                    // 0: all cores
  int64_t processes = 1;               // worker processes; 0: none, cases run in this one
  std::vector<std::string> gpus = {};  // indices, UUIDs, or "all": at least one process each; empty: any
  double timeout = 60;       // seconds that a stage of a case may take in a worker process; 0: no limit
  int64_t rss_limit_mb = 0;  // of a worker process; 0: no limit
  std::string workdir = "fusesmith-work";
  double wait_for_workdir = 0;  // seconds, while another process is at work there
  std::string shard = "0/1";
  std::string engine;  // empty: that of the campaign in the work directory, else kDefaultEngine
  std::string data = "mixed";
  std::vector<std::string> ops;      // of single-op cases; empty: graphs of many ops
  std::vector<std::string> require;  // of the candidate in every case: of kInvariances
  uint64_t metamorphic = 64;
  int64_t minimize = 1;
  int64_t max_findings = 0;
  int64_t error_exitcode = kFindings;
  std::string log_level = "info";
  bool json = false;
  std::vector<std::string> corpus;  // files, and folders of cases, that are judged first
};

// I of "I/N", or a problem unless 0 <= I < N.
Result<uint64_t> parse_shard(const std::string& text);

}  // namespace fusesmith::fuzz
