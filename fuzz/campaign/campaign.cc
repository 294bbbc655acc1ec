#include "fuzz/campaign/campaign.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <ostream>
#include <thread>

#include "fuzz/base/interrupt.h"
#include "fuzz/base/table.h"
#include "fuzz/campaign/campaign_run.h"
#include "fuzz/campaign/summary.h"
#include "fuzz/run/backends.h"
#include "fuzz/run/case_files.h"
#include "fuzz/run/known_names.h"
#include "fuzz/run/metamorphic.h"

namespace fusesmith::fuzz {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::string_view kName = "fuzz";

constexpr int kMaxOutOfMemory = 20;  // cases in a row

// Writing a case and reading it again takes a tenth of its time. One generated case in so many is a sample of
// the generator; every case that is saved is read again too.
constexpr uint64_t kReadAgainEvery = 64;

// The case as a file, which reads back as the same case; else what is wrong with it.
Result<std::string> file_text(const Case& test_case) {
  std::string text = to_json(test_case);
  const auto again = parse_case(text);
  if (again && *again == test_case) return text;
  return Problem{"invalid case: " + (again ? "reads back as another" : again.problem())};
}

GeneratorOptions generator_options(const CampaignOptions& options) {
  GeneratorOptions generator;
  generator.data = parse_data_mix(options.data);
  generator.ops = options.ops;
  return generator;
}

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

}  // namespace

Campaign::Campaign(const CampaignOptions& options, Console& console, WorkDirectory& directory,
                   std::vector<Case> corpus, std::string digest)
    : options_(options),
      console_(console),
      directory_(directory),
      corpus_(std::move(corpus)),
      watch_([this](const auto& running) { save_suspects(running); }),
      judging_(Judging(options.judge).quick()),
      finishing_(options.judge),
      shard_(*parse_shard(options.shard)),
      generator_(generator_options(options)),
      old_findings_(directory.finding_count()),
      status_(console),
      stats_(directory.stats()) {
  judging_.watch = finishing_.watch = &watch_;
  judging_.options.stop = finishing_.options.stop = InterruptGuard::interrupted;
  stats_.seed = options.seed;
  stats_.shard = options.shard;
  if (stats_.corpus_digest != digest) {
    stats_.corpus_done = 0;
    std::erase_if(stats_.device_failures,
                  [](const auto& entry) { return entry.first.starts_with(kCorpusPrefix); });
  }
  stats_.corpus_digest = std::move(digest);
  first_counter_ = stats_.next;
  skipped_ = static_cast<size_t>(stats_.corpus_done);
  for (const std::string& signature : directory.unfinished_findings()) to_finish_.push_back(signature);
  for (const auto& [name, signature] : stats_.device_failures) {
    settled_[name].verdict = VerdictClass::crash;
    settled_[name].signature = signature;
  }
}

bool Campaign::over() const {
  if (options_.max_total_time > 0 && seconds_since(start_) >= options_.max_total_time) return true;
  const auto found = static_cast<int64_t>(directory_.finding_count() - old_findings_);
  return InterruptGuard::interrupted() || (options_.max_findings > 0 && found >= options_.max_findings);
}

// Names a case in suspects/ and in stats.json.
std::string Campaign::name(uint64_t position) const {
  return is_corpus(position) ? std::string(kCorpusPrefix) + std::to_string(skipped_ + position)
                             : std::to_string(counter(position));
}

Result<Finished> Campaign::judge(uint64_t position) {
  CaseParts parts;
  Case test_case;
  bool read_again = false;
  if (is_corpus(position)) {
    test_case = corpus_[skipped_ + position];
  } else {
    const uint64_t number = counter(position);
    test_case = generate_case(options_.seed, shard_, number, generator_, &parts);
    if (options_.metamorphic > 0 && number % options_.metamorphic == 0)
      test_case.policy.metamorphic.assign(kMetamorphicChecks.begin(), kMetamorphicChecks.end());
    read_again = number % kReadAgainEvery == 0;
  }
  // With the options inside, a saved case needs no flags but the faults to show the same.
  test_case = with_options(std::move(test_case), judging_.options);
  test_case.expect.reset();  // speaks of the corpus file, not of findings made from it
  if (read_again) {
    if (const auto text = file_text(test_case); !text) return invalid(text.problem());
  }
  return on_device(name(position), [&] { return judge_case(name(position), test_case, parts); });
}

Finished Campaign::invalid(const std::string& problem) {
  status_.note(problem);
  Finished finished;
  finished.outcome.invalid = true;
  return finished;
}

Result<Finished> Campaign::judge_case(const std::string& name, const Case& test_case,
                                      const CaseParts& parts) {
  const auto settled = settled_.find(name);
  Result<CaseOutcome> outcome = settled != settled_.end() ? settled->second : outcome_of(test_case);
  if (!outcome) return Problem{outcome.problem()};
  Finished finished;
  finished.outcome = std::move(*outcome);
  if (finished.outcome.invalid) return finished;
  finished.outcome.coverage.add(test_case, parts);
  add_graph_events(finished.outcome.events, test_case.graph, parts.style);
  if (!shows_new_features(finished.outcome)) return finished;
  auto text = file_text(test_case);
  if (!text) return invalid(text.problem());
  finished.text = std::move(*text);
  return finished;
}

bool Campaign::shows_new_features(const CaseOutcome& outcome) {
  const std::lock_guard guard(mutex_);
  return !stats_.new_features(outcome).empty();
}

// Judges it; a new finding is on disk then.
Result<CaseOutcome> Campaign::outcome_of(const Case& test_case) {
  CaseOutcome outcome;
  const auto see_plan = [&](CaseRun& run) {
    if (run.candidate) add_plan_events(outcome.events, test_case.graph, run.candidate->plan());
  };
  const CaseRun run = judging_.run(test_case, see_plan);
  const Verdict& verdict = run.verdict;
  outcome.verdict = verdict.verdict;
  if (verdict.verdict == VerdictClass::unsupported) outcome.unsupported = verdict.reason;
  outcome.exact = verdict.exact;
  outcome.metamorphic = run.metamorphic;
  if (verdict.verdict == VerdictClass::out_of_memory) outcome.out_of_memory = verdict.reason;
  for (const RegionVerdict& region : verdict.candidate.regions) {
    outcome.patterns.insert(outcome.patterns.end(), region.patterns.begin(), region.patterns.end());
  }
  for (const KnownFailure& failure : verdict.known) outcome.known.push_back(failure.issue);
  if (verdict.finding) {
    outcome.signature = verdict.signature_text();
    const auto text = file_text(test_case);
    if (!text) return invalid(text.problem()).outcome;
    const auto added = directory_.add_finding(outcome.signature, *text, first_verdict_text(verdict));
    if (!added) return Problem{added.problem()};
    if (*added) announce("finding", outcome.signature);
  }
  return outcome;
}

std::optional<Problem> Campaign::count(uint64_t position, const Finished& finished) {
  const std::lock_guard guard(mutex_);
  if (is_corpus(position)) {
    ++stats_.corpus_done;
  } else {
    const uint64_t counter = stats_.next++;
    if (!finished.outcome.invalid && !finished.text.empty() &&
        !stats_.new_features(finished.outcome).empty()) {
      if (auto problem = directory_.save_corpus_case(std::to_string(counter) + ".json", finished.text))
        return problem;
    }
  }
  stats_.add(finished.outcome);
  stats_.device_failures.erase(name(position));
  out_of_memory_ = finished.outcome.verdict == VerdictClass::out_of_memory ? out_of_memory_ + 1 : 0;
  if (out_of_memory_ < kMaxOutOfMemory || end_) return {};
  end_ = {kOutOfMemory, std::to_string(out_of_memory_) +
                            " cases in a row ran out of memory, the last: " + finished.outcome.out_of_memory +
                            "; free some, or give fewer --jobs, then start the campaign again"};
  return Problem{end_->why};
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

FindingOptions Campaign::finding_options(const std::string& signature) const {
  Judging judging = finishing_;
  judging.reported = signature;
  return {std::move(judging),     options_.judge.beside_case().text(),
          console_.program,       console_.commit,
          options_.minimize != 0, [this] { return InterruptGuard::interrupted() || watch_.failed(); }};
}

std::optional<Problem> Campaign::finish(const std::string& signature) {
  return on_device(std::string(kFinishingPrefix) + signature, [&] {
    return finish_finding(directory_.finding(signature), signature, finding_options(signature),
                          [&](const Verdict& verdict, const Case& test_case) {
                            const std::string other = verdict.signature_text();
                            const auto added = directory_.add_finding(other, to_json(test_case),
                                                                      first_verdict_text(verdict));
                            if (added && *added) announce("finding, seen while another was minimized", other);
                          });
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

void Campaign::add_sample() {
  Stats now = snapshot();
  now.sample();
  const std::lock_guard guard(mutex_);
  stats_.history = std::move(now.history);
}

Stats Campaign::snapshot() {
  const std::lock_guard guard(mutex_);
  Stats stats = stats_;
  stats.elapsed_s += seconds_since(start_);
  // Also those that no counted case has: met while minimizing, or judged when the campaign had its fill.
  for (const std::string& signature : directory_.findings()) stats.findings.try_emplace(signature, 0);
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
  jobs.end = options_.runs > 0 ? corpus_cases + options_.runs : UINT64_MAX;
  const auto cores = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  WorkerPool pool(static_cast<int>(options_.jobs > 0 ? options_.jobs : cores), std::move(jobs));

  auto saved = Clock::now();
  while (!pool.wait(std::chrono::milliseconds(100))) {
    const Stats now = snapshot();
    status_.show(now, static_cast<double>(now.cases - directory_.stats().cases) / seconds_since(start_));
    if (seconds_since(saved) < kSaveEvery) continue;
    saved = Clock::now();
    add_sample();
    if (auto problem = directory_.save(snapshot())) pool.stop(std::move(*problem));
  }
  return pool.problem();
}

std::optional<Problem> Campaign::work() {
  try {
    if (auto problem = check_suspects()) return problem;
    if (auto problem = run_workers()) return problem;
    return finish_rest();
  } catch (const Interrupted&) {
    return {};  // what was cut off is left as it was: the next start does it again
  }
}

int Campaign::run() {
  if (directory_.resumed()) {
    status_.note("resuming the campaign in " + directory_.path().string() + " after " +
                 counted(directory_.stats().cases, "case"));
  }
  std::optional<Problem> problem = work();
  add_sample();
  const Stats stats = snapshot();
  const auto saving = directory_.save(stats);
  status_.close();
  if (!problem) problem = saving;
  if (problem && !end_) return fail(console_, kName, problem->what, kCannotWrite);
  console_.out << (options_.json ? to_json(stats)
                                 : summary_text(stats, directory_, options_.judge, console_.program))
               << std::flush;
  if (end_) {
    const bool suspects = end_->code == kDeviceUnhealthy && !alone_;
    return fail(console_, kName, end_->why + (suspects ? replay_text() : ""), end_->code);
  }
  if (InterruptGuard::interrupted()) return kInterrupted;
  return directory_.finding_count() == 0 ? kClean : kFindings;
}

namespace {

// The corpus cases of all arguments, and a digest of them: a resumed campaign goes on in the corpus that it
// began.
Result<std::vector<Case>> read_corpus(const std::vector<std::string>& arguments, std::string& digest) {
  std::vector<Case> cases;
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const std::string& argument : arguments) {
    const auto found = list_cases(argument);
    if (!found) return Problem{found.problem()};
    for (const std::string& file : found->files) {
      auto test_case = read_known_case(file);
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

// What decides which cases a campaign judges and how.
Identity identity_of(const CampaignOptions& options) {
  return {{"seed", options.seed},
          {"shard", options.shard},
          {"baseline", options.judge.baseline},
          {"candidate", options.judge.candidate},
          {"policy", options.judge.policy},
          {"skip_patterns", options.judge.skip_patterns},
          {"faults", options.judge.faults},
          {"engine", options.engine},
          {"data", options.data},
          {"ops", options.ops, true},
          {"metamorphic", options.metamorphic, true}};
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

int run_campaign(CampaignOptions options, Console& console) {
  if (const auto shard = parse_shard(options.shard); !shard) return fail(console, kName, shard.problem());
  // A campaign goes on with the pair that it began with, whatever this machine would pick now.
  for (const auto& [key, value] :
       {std::pair("baseline", &options.judge.baseline), std::pair("candidate", &options.judge.candidate)}) {
    if (value->empty()) *value = WorkDirectory::recorded(options.workdir, key);
    if (!find_backend(*value)) value->clear();
  }
  if (const auto why = options.judge.cannot_run()) return fail(console, kName, why->why, why->code);
  if (const auto problem = options.judge.read_known()) return fail(console, kName, problem->what);
  const Judging judging(options.judge);
  options.judge.baseline = judging.baseline;
  options.judge.candidate = judging.candidate;
  std::string digest;
  auto corpus = read_corpus(options.corpus, digest);
  if (!corpus) return fail(console, kName, corpus.problem());
  bool cannot_write = false;
  auto directory = WorkDirectory::open(options.workdir, identity_of(options), cannot_write);
  if (!directory) return fail(console, kName, directory.problem(), cannot_write ? kCannotWrite : kUsage);
  if (auto problem = directory->check_corpus(digest, corpus->size()))
    return fail(console, kName, problem->what);
  const InterruptGuard guard;
  return Campaign(options, console, *directory, std::move(*corpus), std::move(digest)).run();
}

}  // namespace fusesmith::fuzz
