// How a campaign uses its worker processes: a case that ends its process is a finding, and is minimized by
// processes that it ends.
#include "fuzz/campaign/campaign_run.h"

namespace fusesmith::fuzz {

namespace {

// Whether the finding is that of a case that ends the process in which it runs, or hangs.
bool ends_its_process(const std::string& signature) {
  for (const Symptom symptom : {Symptom::died, Symptom::timed_out, Symptom::device_error}) {
    if (signature.ends_with("-" + std::string(name(symptom)))) return true;
  }
  return false;
}

}  // namespace

Result<Finished> Campaign::judge_in_worker(uint64_t position) {
  try {
    WorkerRequest request{WorkerRequest::Kind::judge, name(position)};
    if (is_corpus(position))
      request.text = to_json(corpus_[skipped_ + position]);
    else
      request.choices.assign(engine_->choices().begin(), engine_->choices().end());
    HostJudged judged = host_->judge(request);
    if (!judged.failure && !judged.device) return keep(std::move(judged.finished));
    const CampaignCase ran = case_at(position);
    const Verdict verdict = judged.failure ? judging_.worker_failure(ran.test_case, *judged.failure)
                                           : judging_.device_failure(ran.test_case, *judged.device);
    Finished finished = finished_of(verdict, ran.test_case);
    if (!finished.outcome.invalid) add_coverage(finished.outcome, ran);
    return keep(std::move(finished));
  } catch (const HostError& error) {
    return end(error.code, error.what);
  }
}

// Minimized in a worker; if that ends the worker's process, again in a process of its own, then reported
// without minimizing it.
std::optional<Problem> Campaign::finish_in_worker(const std::string& signature) {
  try {
    if (ends_its_process(signature)) return finish_by_queries(signature);
    const auto other = [this](const Finished& finished) { return keep_other(finished); };
    std::string why;
    for (const bool minimize : {options_.minimize != 0, false}) {
      const auto done = host_->finish(signature, minimize, time_to_finish(), other, why);
      if (!done) return Problem{done.problem()};
      if (*done) return {};
      why = "a case that was tried to minimize it failed in another way: " + why;
    }
    Verdict verdict;
    verdict.verdict = recorded_class(directory_.finding(signature)).value_or(VerdictClass::crash);
    verdict.finding = true;
    verdict.reason = "the campaign saw it, but it could not be judged again";
    verdict.baseline.backend = judging_.baseline;
    verdict.candidate.backend = judging_.candidate;
    return report_unrun(directory_.finding(signature), signature, verdict, why, finding_options(signature));
  } catch (const HostError& error) {
    return end(error.code, error.what);
  }
}

// This process applies the minimizer's edits; each smaller case runs in a process that it may end.
std::optional<Problem> Campaign::finish_by_queries(const std::string& signature) {
  WorkerHost::Alone alone(*host_);
  FindingOptions options = finding_options(signature);
  options.judging.elsewhere = [&](const Case& test_case) {
    CaseRun run;
    run.verdict = verdict_of(alone.query(test_case), judging_);
    run.verdict.steps = test_case.steps;
    return run;
  };
  return finish_finding(directory_.finding(signature), signature, options,
                        [&](const Verdict& verdict, const Case& test_case) {
                          return keep_other(finished_of(verdict, test_case));
                        });
}

// Into stats.json, and on the console when one is put in quarantine. Under the lock of what is counted.
void Campaign::note_gpus(Stats& stats) {
  for (const auto& [gpu, why] : host_->gpus()) {
    stats.gpus[gpu.uuid] = {gpu.name, why};
    if (why.empty() || !quarantined_.insert(gpu.uuid).second) continue;
    status_.note(gpu.uuid + " (" + gpu.name + ") is not used any more: " + why);
  }
}

}  // namespace fusesmith::fuzz
