// How a running campaign is doing, for people and monitoring. Unlike the counts of cases, these values depend
// on the machine and on the time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/namespaces.h"

namespace fusesmith::fuzz {

inline constexpr const char* kMinimizeStage = "minimize";

// How a call of `fuzz` ended. What is killed, or cannot write, says nothing.
enum class Ending : uint8_t { ended, interrupted, preempted, failed };
inline constexpr std::array<std::string_view, 4> kEndingNames = {"ended", "interrupted", "preempted",
                                                                 "failed"};

struct CampaignStatus {
  bool running = true;
  std::optional<Ending> ending = {};   // none while it runs, and in files of earlier versions
  double rate_now = 0, rate_mean = 0;  // cases a second: of the last 30 s, and of this call of the command
  std::map<std::string, int64_t>
      threads;                   // of worker processes, by what they are at: compile, run, judge, minimize
  int64_t findings_waiting = 0;  // to be minimized
  int64_t gaps = 0;              // left in the coverage (fuzz/counts/coverage_gaps.h)
  std::optional<double>
      last_finding_s;           // when the newest one was met, in seconds of the campaign's elapsed time
  int64_t worker_restarts = 0;  // of all calls
  std::vector<std::string> quarantined;  // GPUs that are not used any more, by UUID
  std::optional<double> time_left_s;     // of this call, where it has a limit
};

}  // namespace fusesmith::fuzz
