// What a campaign does with its findings: each is minimized and reported while other threads judge cases, and
// what is left when they have ended, at the end.
#include <algorithm>
#include <future>
#include <limits>
#include <nlohmann/json.hpp>

#include "fuzz/base/clock.h"
#include "fuzz/base/files.h"
#include "fuzz/base/interrupt.h"
#include "fuzz/campaign/campaign_run.h"
#include "fuzz/findings/finding_record.h"
#include "fuzz/report/first_report.h"
#include "graph/json_strict.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kFinishingShare = 4;  // one thread in so many minimizes findings, or one
constexpr int kMostAttempts = 3;    // to finish a finding whose files cannot be written
// Seconds after --max_total_time in which findings are still minimized: a tenth of it, within these.
constexpr double kLeastGrace = 10, kMostGrace = 120;

}  // namespace

// One finding, if there is one to minimize and report.
std::optional<Problem> Campaign::follow_up() {
  std::string signature;
  {
    const std::lock_guard guard(mutex_);
    const bool busy = finishing_now_ > 0 && kFinishingShare * (finishing_now_ + 1) > threads_;
    if (to_finish_.empty() || busy || cannot_write_) return {};
    signature = std::move(to_finish_.front());
    to_finish_.pop_front();
    ++finishing_now_;
  }
  auto problem = finish(signature);
  const std::lock_guard guard(mutex_);
  --finishing_now_;
  if (!problem || end_) return problem;
  // A file cannot be read or written: again once the directory can be saved, at last by finish_rest.
  if (++attempts_to_finish_[signature] <= kMostAttempts) to_finish_later_.push_back(signature);
  return {};
}

FindingOptions Campaign::finding_options(const std::string& signature) const {
  FindingOptions options;
  options.judging = without_issue_of(finishing_, signature);
  options.flags = options_.judge.beside_case().text();
  options.program = console_.program;
  options.commit = console_.commit;
  options.minimize = options_.minimize != 0;
  options.max_seconds = time_to_finish();
  options.stop = Signals::interrupted;
  if (host_) options.environment = host_->environment();
  return options;
}

Result<WorkDirectory::Added> Campaign::add_finding(const std::string& signature, const NewFinding& found) {
  const FirstReport report{.title = found.title,
                           .what = found.what,
                           .case_text = found.case_text,
                           .file = (directory_.finding(signature) / "case.json").string(),
                           .workdir = directory_.path().string(),
                           .program = console_.program,
                           .flags = options_.judge.beside_case().text()};
  return directory_.add_finding(
      signature, {found.case_text, found.verdict_text, first_report_text(report), found.title});
}

// No counted case has such a finding, so it is met again only if the other one is minimized again. Whether it
// is on disk, after which the other one may be finished.
bool Campaign::keep_other(const Finished& finished) {
  if (!finished.found) return true;
  const std::string& other = finished.outcome.signature;
  const auto added = add_finding(other, *finished.found);
  if (added && *added == WorkDirectory::Added::written)
    announce("finding, seen while another was minimized", other, finished.found->title);
  return directory_.is_written(other);
}

std::optional<Problem> Campaign::finish(const std::string& signature) {
  const auto finish_here = [&] {
    return finish_finding(directory_.finding(signature), signature, finding_options(signature),
                          [&](const Verdict& verdict, const Case& test_case) {
                            return keep_other(finished_of(verdict, test_case));
                          });
  };
  auto problem = host_ ? finish_in_worker(signature) : here(finish_here);
  if (!problem) tell_report(signature);
  return problem;
}

// Its title and its known issue are those of the minimized case.
void Campaign::tell_report(const std::string& signature) {
  const auto folder = directory_.finding(signature);
  const auto text =
      is_finished(folder) ? read_file(folder / "verdict.json") : Result<std::string>(Problem{""});
  const auto verdict = text ? parse_record(*text) : Json();
  const auto report = verdict.is_object() ? verdict.find("report") : verdict.end();
  if (report == verdict.end()) return;
  const std::string known = text_member(*report, "known_issue");
  status_.note("report: " + (folder / "report.md").string() + ": " + text_member(*report, "title") +
               (known.empty() ? "" : "; known issue: " + known));
}

// Seconds that a finding may take which is begun now; 0 if it is only judged again and reported as found.
double Campaign::time_to_finish() const {
  const double limit = options_.max_total_time;
  if (limit <= 0) return std::numeric_limits<double>::infinity();
  const double passed = seconds_since(start_);
  return std::max(0.0, limit + std::clamp(limit / 10, kLeastGrace, kMostGrace) - passed);
}

// In the order of their names; those that are met meanwhile as well.
std::optional<Problem> Campaign::finish_each() {
  for (;;) {
    const std::vector<std::string> left = directory_.unfinished_findings();
    if (left.empty()) return {};
    const auto note = [&](size_t waiting, int now) {
      const std::lock_guard guard(mutex_);
      to_finish_.clear();
      to_finish_later_.clear();
      left_to_finish_ = waiting;
      finishing_now_ = now;
    };
    for (size_t i = 0; i < left.size(); ++i) {
      if (Signals::interrupted()) return {};
      note(left.size() - i - 1, 1);
      auto problem = finish(left[i]);
      note(left.size() - i - 1, 0);
      if (problem && directory_.forget_removed(left[i])) {
        files_.log(EventLog::Level::warning, "finding removed", {{"signature", left[i]}});
        status_.note("the folder of a finding was removed: " + directory_.finding(left[i]).string());
        continue;
      }
      if (problem) return problem;
    }
  }
}

// What the threads that judge cases had no time for.
std::optional<Problem> Campaign::finish_rest() {
  if (auto problem = save()) return problem;
  auto finishing = std::async(std::launch::async, [this] { return finish_each(); });
  while (finishing.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) show_status();
  return finishing.get();
}

}  // namespace fusesmith::fuzz
