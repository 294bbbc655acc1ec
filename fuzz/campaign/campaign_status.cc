// How a campaign is doing: what its status line shows, and its files for monitoring have.
#include "fuzz/counts/campaign_status.h"

#include <algorithm>

#include "fuzz/base/clock.h"
#include "fuzz/campaign/campaign_run.h"
#include "fuzz/counts/coverage_gaps.h"
#include "fuzz/run/known_names.h"

namespace fusesmith::fuzz {

void Campaign::add_status(Stats& stats) {
  const double here = seconds_since(start_);
  CampaignStatus& status = stats.status.emplace(stats_.status.value_or(CampaignStatus()));
  const int64_t judged = stats.cases - directory_.stats().cases;
  status.running = !ending_;
  status.ending = ending_;
  status.rate_mean = here > 0 ? static_cast<double>(judged) / here : 0;
  status.rate_now = rate_.add(here, stats.cases);
  if (host_) {
    status.threads = host_->stages();
    status.worker_restarts += host_->restarts();
  }
  status.quarantined.clear();
  for (const auto& [uuid, gpu] : stats.gpus) {
    if (!gpu.quarantined.empty()) status.quarantined.push_back(uuid);
  }
  if (finishing_now_ > 0) status.threads[kMinimizeStage] = finishing_now_;
  status.findings_waiting =
      static_cast<int64_t>(to_finish_.size() + to_finish_later_.size() + left_to_finish_);
  if (options_.max_total_time > 0) status.time_left_s = std::max(0.0, options_.max_total_time - here);
  if (end_ahead_ != UINT64_MAX && status.rate_mean > 0) {
    const uint64_t done = stats.next - first_counter_ + static_cast<uint64_t>(stats.corpus_done) - skipped_;
    const double left = static_cast<double>(end_ahead_ - std::min(end_ahead_, done)) / status.rate_mean;
    status.time_left_s = std::min(left, status.time_left_s.value_or(left));
  }
}

Stats Campaign::saved_snapshot() {
  Stats stats = snapshot();
  stats.status->gaps =
      coverage_gaps(stats.met, stats.cases, rewrites_graphs(options_.judge.candidate)).count();
  {
    const std::lock_guard guard(mutex_);
    stats_.status->gaps = stats.status->gaps;  // shown until it is counted again
  }
  files_.save(stats);
  for (const std::string& problem : files_.take_problems()) status_.note(problem);
  return stats;
}

}  // namespace fusesmith::fuzz
