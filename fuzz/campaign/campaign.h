// A campaign: judges generated cases on all cores, in a work directory from which it can be resumed. Case
// number n of a campaign is a function of (seed, shard, n) alone, so verdict counts do not depend on the
// number of jobs.
#pragma once

#include <string>
#include <vector>

#include "fuzz/base/console.h"
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
  std::vector<std::string> ops;  // of single-op cases; empty: graphs of many ops
  uint64_t metamorphic = 64;
  int64_t minimize = 1;
  int64_t max_findings = 0;
  int64_t error_exitcode = kFindings;
  std::string log_level = "info";
  bool json = false;
  std::vector<std::string> corpus;  // files, and folders of cases, that are judged first
};

// Exit code: 0 clean, 1 usage, 71 one case after the other ran out of memory, 72 interrupted, 73 cannot
// write, 76 the device is missing or failed, 77 (`error_exitcode`) the work directory holds findings.
int run_campaign(CampaignOptions options, Console& console);

// The engines of this build.
std::vector<std::string> campaign_engines();

// I of "I/N", or a problem unless 0 <= I < N.
Result<uint64_t> parse_shard(const std::string& text);

}  // namespace fusesmith::fuzz
