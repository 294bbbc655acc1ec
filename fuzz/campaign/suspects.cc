// What a campaign does when the device fails: what ran is saved, and run alone when the campaign is started
// again.
#include <algorithm>
#include <charconv>

#include "fuzz/base/interrupt.h"
#include "fuzz/base/table.h"
#include "fuzz/campaign/campaign_run.h"
#include "fuzz/campaign/finding_record.h"
#include "fuzz/run/case_files.h"

namespace fusesmith::fuzz {

Problem Campaign::end(ExitCode code, std::string why) {
  const std::lock_guard guard(mutex_);
  if (!end_) end_ = {code, why};
  return Problem{std::move(why)};
}

void Campaign::save_suspects(const std::vector<DeviceWatch::Running>& running) {
  for (const auto& [name, test_case] : running) {
    if (const auto problem = directory_.save_suspect(name, to_json(*test_case)))
      status_.note("what ran when the device failed is not saved: " + problem->what);
  }
}

// "; what ran ...": the end of the line about a device that failed.
std::string Campaign::replay_text() const {
  constexpr size_t kMost = 4;
  std::vector<std::string> names = directory_.suspects();
  std::string files;
  for (const std::string& name : names) files += " " + shell_quoted(directory_.suspect(name).string());
  if (names.size() > kMost) files = " " + shell_quoted((directory_.path() / "suspects").string());
  return "; what ran (" + counted(static_cast<int64_t>(names.size()), "case") +
         ") is saved: start the campaign again to run each alone, or " + console_.program + " replay" +
         files + options_.judge.beside_case().text();
}

std::optional<Problem> Campaign::check_suspects() {
  if (host_) {
    drop_suspects();
    return {};
  }
  alone_ = true;
  for (const std::string& name : directory_.suspects()) {
    if (Signals::interrupted()) break;
    if (auto problem = check_suspect(name)) return problem;
  }
  alone_ = false;
  return {};
}

std::optional<Problem> Campaign::check_suspect(const std::string& name) {
  if (stats_.device_failures.contains(name)) {  // a campaign that was killed right then
    directory_.drop_suspect(name);
    return {};
  }
  const std::string file = directory_.suspect(name).string();
  const auto test_case = read_work_case(directory_.suspect(name));
  if (!test_case) return end(kUsage, test_case.problem() + "; remove this file to go on without it");
  status_.note("the device failed while this ran, now alone: " + file);
  const auto finished = on_device(name, [&] { return keep(run_and_judge(*test_case, judging_)); });
  if (!finished) return Problem{finished.problem()};
  if (is_ahead(name)) settled_[name] = finished->outcome;
  if (name.starts_with(kFinishingPrefix)) {
    const std::string signature = name.substr(kFinishingPrefix.size());
    const auto last = std::remove(to_finish_.begin(), to_finish_.end(), signature);
    const bool unfinished = last != to_finish_.end();
    to_finish_.erase(last, to_finish_.end());
    auto problem = unfinished ? finish(signature) : std::nullopt;
    if (problem) return problem;
  }
  directory_.drop_suspect(name);
  return {};
}

// Whether the case of this name is still to be counted.
bool Campaign::is_ahead(const std::string& name) const {
  const bool in_corpus = name.starts_with(kCorpusPrefix);
  const char *begin = name.data() + (in_corpus ? kCorpusPrefix.size() : 0), *end = name.data() + name.size();
  uint64_t number = 0;
  const auto [at, error] = std::from_chars(begin, end, number);
  return error == std::errc() && at == end && number >= (in_corpus ? skipped_ : first_counter_);
}

// The device failed while nothing but the suspect of this name was on it. The finding is on disk before the
// suspect goes; a campaign that is killed in between comes here again.
Problem Campaign::record_device_failure(const std::string& name, const DeviceError& error) {
  const auto test_case = read_work_case(directory_.suspect(name));
  if (!test_case) return Problem{test_case.problem()};
  const Verdict verdict = judging_.device_failure(*test_case, error);
  const std::string signature = verdict.signature_text();
  auto problem = keep_failing_case(name, *test_case, verdict);
  if (!problem && name.starts_with(kFinishingPrefix))
    problem = report_unfinished(name.substr(kFinishingPrefix.size()), error);
  if (problem) return *problem;
  if (is_ahead(name))
    stats_.device_failures[name] = signature;
  else
    ++stats_.findings[signature];
  if ((problem = directory_.save(snapshot()))) return *problem;
  directory_.drop_suspect(name);
  return end(kDeviceUnhealthy, "the device failed again with case " + name + " alone: " + error.what() +
                                   "; it is kept in " + directory_.finding(signature).string() +
                                   ", start the campaign again to go on without it");
}

std::optional<Problem> Campaign::keep_failing_case(const std::string& name, const Case& test_case,
                                                   const Verdict& verdict) {
  const Finished finished = finished_of(verdict, test_case);
  if (!finished.found) return Problem{finished.problem};
  const std::string &text = finished.found->case_text, &signature = finished.outcome.signature;
  const auto added = add_finding(signature, *finished.found);
  if (!added) return Problem{added.problem()};
  if (*added == WorkDirectory::Added::known) {
    if (auto problem = directory_.add_case(signature, name, text)) return problem;
  }
  const auto folder = directory_.finding(signature);
  if (is_finished(folder)) return {};
  return report_unrun(folder, signature, verdict, "its every run ends with a failed device",
                      finding_options(signature));
}

// Of a finding whose cases make the device fail while it is judged again or minimized.
std::optional<Problem> Campaign::report_unfinished(const std::string& signature, const DeviceError& error) {
  const auto folder = directory_.finding(signature);
  if (!is_there(folder / kCaseFile) || is_finished(folder)) return {};
  Verdict verdict;
  // Work directories of older versions may have only the case.
  verdict.verdict = recorded_class(folder).value_or(VerdictClass::crash);
  verdict.finding = true;
  verdict.reason = "the campaign saw it, but the device failed before its evidence was written";
  verdict.baseline.backend = judging_.baseline;
  verdict.candidate.backend = judging_.candidate;
  return report_unrun(folder, signature, verdict, std::string("the device failed meanwhile: ") + error.what(),
                      finding_options(signature));
}

}  // namespace fusesmith::fuzz
