// The campaign behind the `fuzz` command, for campaign.cc (cases, the end), finishing.cc (findings) and
// supervision.cc (worker processes).
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fuzz/campaign/campaign.h"
#include "fuzz/campaign/engine.h"
#include "fuzz/campaign/live_status.h"
#include "fuzz/campaign/worker_pool.h"
#include "fuzz/findings/finding.h"
#include "fuzz/findings/finding_record.h"
#include "fuzz/supervisor/case_judge.h"
#include "fuzz/supervisor/worker_host.h"
#include "fuzz/workdir/campaign_files.h"
#include "fuzz/workdir/work_directory.h"

namespace fusesmith::fuzz {

// The sequence of cases: what is left of the corpus, then generated ones from the first counter that was not
// judged yet.
class Campaign {
 public:
  Campaign(const CampaignOptions& options, Console& console, WorkDirectory& directory,
           std::vector<Case> corpus, std::string digest, WorkerHost* host);

  int run();

 private:
  Result<Finished> judge(uint64_t position);
  Result<Finished> judge_generated(uint64_t position);
  Result<Finished> keep(Finished finished);
  std::optional<Problem> count(uint64_t position, const Finished& finished);
  Result<WorkDirectory::Added> add_finding(const std::string& signature, const NewFinding& found);
  void announce(const std::string& what, const std::string& signature, const std::string& title);
  std::optional<Problem> run_workers();
  std::optional<Problem> work();
  bool over() const;
  bool is_corpus(uint64_t position) const { return position < corpus_.size() - skipped_; }
  uint64_t counter(uint64_t position) const {
    return first_counter_ + position - (corpus_.size() - skipped_);
  }
  CampaignCase case_at(uint64_t position) const;
  std::string name(uint64_t position) const;
  Stats snapshot();
  Stats saved_snapshot();         // with what people watch, which is written beside stats.json
  void add_status(Stats& stats);  // under the mutex
  void show_status();
  void add_sample();  // to the history
  std::optional<Problem> save();
  std::optional<Problem> restore_corpus();
  std::string lost_text() const;
  Ending how_it_ends(bool with_problem) const;
  std::optional<Problem> patiently(const std::function<std::optional<Problem>()>& work) const;

  // finishing.cc: minimizes and reports findings
  std::optional<Problem> follow_up();
  FindingOptions finding_options(const std::string& signature) const;
  bool keep_other(const Finished& finished);
  std::optional<Problem> finish(const std::string& signature);
  void tell_report(const std::string& signature);
  double time_to_finish() const;
  std::optional<Problem> finish_each();
  std::optional<Problem> finish_rest();

  // supervision.cc: with worker processes
  Result<Finished> judge_in_worker(uint64_t position);
  std::optional<Problem> finish_in_worker(const std::string& signature);
  std::optional<Problem> finish_by_queries(const std::string& signature);
  void note_gpus(Stats& stats);

  // `work` in this process; a device that fails ends the campaign.
  template <class Work>
  auto here(Work work) -> decltype(work());
  Problem end(ExitCode code, std::string why);

  struct End {
    ExitCode code;
    std::string why;
  };

  const CampaignOptions& options_;
  Console& console_;
  WorkDirectory& directory_;
  const std::vector<Case> corpus_;
  WorkerHost* const host_;  // null: cases run in this process
  Judging finishing_;
  Judging judging_;  // of cases: quick
  const CaseSource source_;
  const int threads_;
  const size_t old_findings_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  CampaignFiles files_;
  RecentRate rate_;  // under the mutex
  LiveStatus status_;
  std::optional<Ending> ending_;  // none while it runs
  bool told_of_signal_ = false;
  std::atomic<bool> cannot_write_ = false;  // since the last save
  std::unique_ptr<CaseEngine> engine_ = std::make_unique<CaseEngine>();
  std::mutex mutex_;  // of what follows
  Stats stats_;
  std::deque<std::string> to_finish_;        // findings without report; a killed campaign's come first
  std::deque<std::string> to_finish_later_;  // once files can be written
  std::map<std::string, int> attempts_to_finish_;
  uint64_t first_counter_ = 0;
  size_t skipped_ = 0;                 // corpus cases that are in the counts already
  int finishing_now_ = 0;              // threads that minimize a finding
  size_t left_to_finish_ = 0;          // findings that wait for that when no more cases are judged
  uint64_t end_ahead_ = UINT64_MAX;    // the first position that is not wanted
  int out_of_memory_ = 0;              // cases in a row
  std::optional<End> end_;             // what stopped the campaign before its time
  std::set<std::string> quarantined_;  // UUIDs of which that was told
};

template <class Work>
auto Campaign::here(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const DeviceError& error) {
    return end(kDeviceUnhealthy, std::string("the device failed: ") + error.what() +
                                     "; without --processes=0, the campaign finds the case and goes on");
  }
}

}  // namespace fusesmith::fuzz
