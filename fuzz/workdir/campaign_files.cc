#include "fuzz/workdir/campaign_files.h"

#include <ctime>

#include "fuzz/workdir/metrics.h"

namespace fusesmith::fuzz {

using Level = EventLog::Level;

CampaignFiles::CampaignFiles(WorkPath workdir, const CampaignOptions& options)
    : workdir_(std::move(workdir)),
      baseline_(options.judge.baseline),
      candidate_(options.judge.candidate),
      processes_(options.processes),
      log_(workdir_, options.log_level),
      plot_(workdir_) {
  log(Level::info, "start",
      {{"version", FUSESMITH_VERSION},
       {"baseline", baseline_},
       {"candidate", candidate_},
       {"seed", options.seed},
       {"shard", options.shard}});
  log_problem(log_.problem());
}

void CampaignFiles::log_case(const std::string& name, const CaseOutcome& outcome) {
  if (!log_.writes(Level::debug)) return;
  nlohmann::ordered_json fields = {{"case", name}};
  if (outcome.invalid)
    fields["invalid"] = true;
  else
    fields["verdict"] = kVerdictNames[static_cast<size_t>(outcome.verdict)];
  if (!outcome.signature.empty()) fields["signature"] = outcome.signature;
  log_.write(Level::debug, "case", fields);
}

// Each problem once.
void CampaignFiles::log_problem(const std::optional<Problem>& problem) {
  if (!problem || !problems_.insert(problem->what).second) return;
  new_problems_.push_back(problem->what);
  log(Level::warning, "cannot_write", {{"problem", problem->what}});
}

void CampaignFiles::save(const Stats& stats) {
  const CampaignStatus status = stats.status.value_or(CampaignStatus());
  log_problem(write_file(workdir_ / "metrics.prom",
                         metrics_text(stats, status, baseline_, candidate_, std::time(nullptr))));
  if (status.worker_restarts > restarts_)
    log(Level::warning, "worker_restart", {{"restarts", status.worker_restarts}});
  restarts_ = status.worker_restarts;
  if (!status.running) log(Level::info, "end", {{"cases", stats.cases}, {"findings", stats.findings.size()}});
  if (status.running && !plot_.is_due(stats.elapsed_s)) return;
  const auto corpus = names_in(workdir_ / "corpus");
  log_problem(plot_.add(plot_line(stats, status, corpus ? corpus->size() : 0, processes_), stats.elapsed_s));
}

}  // namespace fusesmith::fuzz
