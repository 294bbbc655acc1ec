#include "fuzz/campaign.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <deque>
#include <ostream>
#include <thread>

#include "fuzz/finding.h"
#include "fuzz/interrupt.h"
#include "fuzz/live_status.h"
#include "fuzz/summary.h"
#include "fuzz/work_directory.h"
#include "fuzz/worker_pool.h"

namespace fusesmith {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::string_view kName = "fuzz";

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

// The sequence of cases: what is left of the corpus, then generated ones from the first counter that was not
// judged yet.
class Campaign {
 public:
  Campaign(const FuzzFlags& flags, Console& console, WorkDirectory& directory, std::vector<Case> corpus,
           std::string digest);

  int run();

 private:
  Result<Finished> judge(uint64_t position);
  std::optional<Problem> count(uint64_t position, const Finished& finished);
  void announce(const std::string& what, const std::string& signature);
  std::optional<Problem> follow_up();
  std::optional<Problem> finish(const std::string& signature);
  std::optional<Problem> finish_rest();
  std::optional<Problem> run_workers();
  bool over() const;
  bool is_corpus(uint64_t position) const { return position < corpus_.size() - skipped_; }
  Result<Finished> judge_case(const Case& test_case, const CaseParts& parts);
  Stats snapshot();

  const FuzzFlags& flags_;
  Console& console_;
  WorkDirectory& directory_;
  const std::vector<Case> corpus_;
  const Judging judging_;
  const uint64_t shard_;
  const size_t old_findings_;
  const Clock::time_point start_ = Clock::now();
  LiveStatus status_;
  std::mutex mutex_;  // of what follows
  Stats stats_;
  std::deque<std::string> to_finish_;  // findings without report; a killed campaign's come first
  uint64_t first_counter_ = 0;
  size_t skipped_ = 0;  // corpus cases that are in the counts already
};

Campaign::Campaign(const FuzzFlags& flags, Console& console, WorkDirectory& directory,
                   std::vector<Case> corpus, std::string digest)
    : flags_(flags),
      console_(console),
      directory_(directory),
      corpus_(std::move(corpus)),
      judging_(Judging(flags.judge).quick()),
      shard_(*parse_shard(flags.shard)),
      old_findings_(directory.finding_count()),
      status_(console),
      stats_(directory.stats()) {
  stats_.seed = flags.seed;
  stats_.shard = flags.shard;
  if (stats_.corpus_digest != digest) stats_.corpus_done = 0;
  stats_.corpus_digest = std::move(digest);
  first_counter_ = stats_.next;
  skipped_ = static_cast<size_t>(stats_.corpus_done);
  for (const std::string& signature : directory.unfinished_findings()) to_finish_.push_back(signature);
}

bool Campaign::over() const {
  if (flags_.max_total_time > 0 && seconds_since(start_) >= flags_.max_total_time) return true;
  const auto found = static_cast<int64_t>(directory_.finding_count() - old_findings_);
  return InterruptGuard::interrupted() || (flags_.max_findings > 0 && found >= flags_.max_findings);
}

Result<Finished> Campaign::judge(uint64_t position) {
  if (is_corpus(position)) return judge_case(corpus_[skipped_ + position], {});
  CaseParts parts;
  const uint64_t counter = first_counter_ + position - (corpus_.size() - skipped_);
  const Case test_case = generate_case(flags_.seed, shard_, counter, {}, &parts);
  return judge_case(test_case, parts);
}

Result<Finished> Campaign::judge_case(const Case& raw_case, const CaseParts& parts) {
  // With the options inside, a saved case needs no flags but the faults to show the same.
  Case test_case = with_options(raw_case, judging_.options);
  test_case.expect.reset();  // speaks of the corpus file, not of findings made from it
  Finished finished;
  const std::string text = to_json(test_case);
  if (const auto again = parse_case(text); !again || !(*again == test_case)) {
    status_.note("invalid case: " + (again ? "reads back as another" : again.problem()));
    finished.outcome.invalid = true;
    return finished;
  }
  const Verdict verdict = judging_.run(test_case).verdict;
  CaseOutcome& outcome = finished.outcome;
  outcome.verdict = verdict.verdict;
  outcome.coverage.add(test_case, parts);
  if (verdict.verdict == VerdictClass::unsupported) outcome.unsupported = verdict.reason;
  for (const RegionVerdict& region : verdict.candidate.regions) {
    outcome.patterns.insert(outcome.patterns.end(), region.patterns.begin(), region.patterns.end());
  }
  if (verdict.finding) {
    outcome.signature = verdict.signature;
    const auto added = directory_.add_finding(verdict.signature, text);
    if (!added) return Problem{added.problem()};
    if (*added) announce("finding", verdict.signature);
  }
  const std::lock_guard guard(mutex_);
  if (!stats_.news(outcome).empty()) finished.text = text;
  return finished;
}

std::optional<Problem> Campaign::count(uint64_t position, const Finished& finished) {
  const std::lock_guard guard(mutex_);
  if (is_corpus(position)) {
    ++stats_.corpus_done;
  } else {
    const uint64_t counter = stats_.next++;
    if (!finished.outcome.invalid && !finished.text.empty() && !stats_.news(finished.outcome).empty()) {
      if (auto problem = directory_.save_corpus_case(std::to_string(counter) + ".json", finished.text))
        return problem;
    }
  }
  stats_.add(finished.outcome);
  return {};
}

void Campaign::announce(const std::string& what, const std::string& signature) {
  status_.note(what + ": " + (directory_.finding(signature) / "case.json").string());
  const std::lock_guard guard(mutex_);
  to_finish_.push_back(signature);
}

// One finding, if there is one to minimize and report.
std::optional<Problem> Campaign::follow_up() {
  std::string signature;
  {
    const std::lock_guard guard(mutex_);
    if (to_finish_.empty()) return {};
    signature = std::move(to_finish_.front());
    to_finish_.pop_front();
  }
  return finish(signature);
}

std::optional<Problem> Campaign::finish(const std::string& signature) {
  const FindingOptions options{Judging(flags_.judge), flags_.judge.beside_case().text(), console_.program,
                               flags_.minimize != 0, [] { return InterruptGuard::interrupted(); }};
  return finish_finding(directory_.finding(signature), signature, options,
                        [&](const std::string& other, const Case& test_case) {
                          const auto added = directory_.add_finding(other, to_json(test_case));
                          if (added && *added) announce("finding, met while minimizing another", other);
                        });
}

// What the workers had no time for.
std::optional<Problem> Campaign::finish_rest() {
  for (;;) {
    const std::vector<std::string> left = directory_.unfinished_findings();
    if (left.empty() || InterruptGuard::interrupted()) return {};
    for (const std::string& signature : left) {
      if (InterruptGuard::interrupted()) return {};
      if (auto problem = finish(signature)) return problem;
    }
  }
}

Stats Campaign::snapshot() {
  const std::lock_guard guard(mutex_);
  Stats stats = stats_;
  stats.elapsed_s += seconds_since(start_);
  return stats;
}

std::optional<Problem> Campaign::run_workers() {
  constexpr double kSaveEvery = 2;
  WorkerPool::Jobs jobs;
  jobs.judge = [&](uint64_t position) { return judge(position); };
  jobs.count = [&](uint64_t position, const Finished& finished) { return count(position, finished); };
  jobs.follow_up = [&] { return follow_up(); };
  jobs.stop = [&] { return over(); };
  const uint64_t corpus_cases = corpus_.size() - skipped_;
  jobs.end = flags_.runs > 0 ? corpus_cases + flags_.runs : UINT64_MAX;
  const auto cores = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  WorkerPool pool(static_cast<int>(flags_.jobs > 0 ? flags_.jobs : cores), std::move(jobs));

  auto saved = Clock::now();
  while (!pool.wait(std::chrono::milliseconds(100))) {
    const Stats now = snapshot();
    status_.show(now, static_cast<double>(now.cases - directory_.stats().cases) / seconds_since(start_));
    if (seconds_since(saved) < kSaveEvery) continue;
    saved = Clock::now();
    if (auto problem = directory_.save(now)) pool.stop(std::move(*problem));
  }
  return pool.problem();
}

int Campaign::run() {
  std::optional<Problem> problem = run_workers();
  if (!problem) problem = finish_rest();
  const Stats stats = snapshot();
  const auto saving = directory_.save(stats);
  status_.close();
  if (!problem) problem = saving;
  if (problem) return fail(console_, kName, problem->what, kCannotWrite);
  console_.out << (flags_.json ? to_json(stats)
                               : summary_text(stats, directory_, flags_.judge, console_.program))
               << std::flush;
  if (InterruptGuard::interrupted()) return kInterrupted;
  return directory_.finding_count() == 0 ? kClean : kFindings;
}

// The corpus cases of all arguments, and a digest of them: a resumed campaign goes on in the corpus that it
// began.
Result<std::vector<Case>> read_corpus(const std::vector<std::string>& arguments, std::string& digest) {
  std::vector<Case> cases;
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const std::string& argument : arguments) {
    const auto files = list_json(argument);
    if (!files) return Problem{files.problem()};
    for (const std::string& file : *files) {
      auto test_case = read_case_file(file);
      if (!test_case) return Problem{test_case.problem()};
      for (const char c : to_json(*test_case)) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
      cases.push_back(std::move(*test_case));
    }
  }
  char buffer[20];
  std::snprintf(buffer, sizeof buffer, "%016" PRIx64, hash);
  digest = cases.empty() ? "" : buffer;
  return cases;
}

}  // namespace

Result<uint64_t> parse_shard(const std::string& text) {
  const size_t slash = std::min(text.find('/'), text.size());
  const auto number = [&](size_t begin, size_t end, uint64_t& value) {
    const auto [at, error] = std::from_chars(text.data() + begin, text.data() + end, value);
    return error == std::errc() && at == text.data() + end && begin < end;
  };
  uint64_t index = 0, count = 0;
  if (slash == text.size() || !number(0, slash, index) || !number(slash + 1, text.size(), count) ||
      index >= count) {
    return Problem{"--shard: expected I/N with 0 <= I < N, as in 0/4; got '" + text + "'"};
  }
  return index;
}

int run(FuzzFlags& flags, Console& console) {
  if (flags.engine == "libfuzzer") {
    return fail(console, kName,
                "--engine=libfuzzer: guided campaigns are not part of this version; build preset fuzz and "
                "run its libFuzzer "
                "targets (build/fuzz/libfuzzer/) instead");
  }
  if (const auto shard = parse_shard(flags.shard); !shard) return fail(console, kName, shard.problem());
  const Judging judging(flags.judge);
  flags.judge.baseline = judging.baseline;
  flags.judge.candidate = judging.candidate;
  std::string digest;
  auto corpus = read_corpus(flags.corpus, digest);
  if (!corpus) return fail(console, kName, corpus.problem());
  bool cannot_write = false;
  auto directory = WorkDirectory::open(flags.workdir, flags.table(), cannot_write);
  if (!directory) return fail(console, kName, directory.problem(), cannot_write ? kCannotWrite : kUsage);
  const InterruptGuard guard;
  return Campaign(flags, console, *directory, std::move(*corpus), std::move(digest)).run();
}

}  // namespace fusesmith
