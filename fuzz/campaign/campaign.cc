#include "fuzz/campaign/campaign.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <ostream>
#include <thread>

#include "fuzz/base/clock.h"
#include "fuzz/base/files.h"
#include "fuzz/base/interrupt.h"
#include "fuzz/base/table.h"
#include "fuzz/campaign/campaign_run.h"
#include "fuzz/campaign/guided_choices.h"
#include "fuzz/campaign/summary.h"
#include "fuzz/generate/generator.h"
#include "fuzz/run/backends.h"
#include "fuzz/run/case_files.h"
#include "fuzz/run/gpus.h"
#include "fuzz/run/interrupted.h"
#include "fuzz/run/known_names.h"
#include "fuzz/run/named_by_files.h"
#include "fuzz/workdir/identity.h"

namespace fusesmith::fuzz {

namespace {

constexpr std::string_view kName = "fuzz";

constexpr int kMaxOutOfMemory = 20;  // cases in a row
constexpr int kAttemptsAtEnd = 6;    // to write what is left, 1 s apart
constexpr double kSaveEvery = 2;     // seconds

int thread_count(const CampaignOptions& options) {
  const auto cores = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  return static_cast<int>(options.jobs > 0 ? options.jobs : cores);
}

}  // namespace

Campaign::Campaign(const CampaignOptions& options, Console& console, WorkDirectory& directory,
                   std::vector<Case> corpus, std::string digest, WorkerHost* host)
    : options_(options),
      console_(console),
      directory_(directory),
      corpus_(std::move(corpus)),
      host_(host),
      finishing_(host ? Judging(options.judge, Judging::Elsewhere{}) : Judging(options.judge)),
      judging_(finishing_.quick()),
      source_(options),
      threads_(options.engine == kLibFuzzer ? 1
               : host                       ? host->threads()
                                            : thread_count(options)),
      old_findings_(directory.finding_count()),
      files_(directory.path(), options),
      status_(console),
      stats_(directory.stats()) {
  judging_.options.stop = finishing_.options.stop = Signals::interrupted;
  if (!stats_.status) stats_.status.emplace();
  stats_.seed = options.seed;
  stats_.shard = options.shard;
  if (stats_.corpus_digest != digest) stats_.corpus_done = 0;
  stats_.corpus_digest = std::move(digest);
  first_counter_ = stats_.next;
  skipped_ = static_cast<size_t>(stats_.corpus_done);
  for (const std::string& signature : directory.unfinished_findings()) to_finish_.push_back(signature);
}

Problem Campaign::end(ExitCode code, std::string why) {
  const std::lock_guard guard(mutex_);
  if (!end_) end_ = {code, why};
  return Problem{std::move(why)};
}

bool Campaign::over() const {
  if (options_.max_total_time > 0 && seconds_since(start_) >= options_.max_total_time) return true;
  const auto found = static_cast<int64_t>(directory_.finding_count() - old_findings_);
  return Signals::interrupted() || (options_.max_findings > 0 && found >= options_.max_findings);
}

// Names a case, as log.jsonl has it.
std::string Campaign::name(uint64_t position) const {
  return is_corpus(position) ? std::string(kCorpusPrefix) + std::to_string(skipped_ + position)
                             : std::to_string(counter(position));
}

CampaignCase Campaign::case_at(uint64_t position) const {
  if (is_corpus(position)) return source_.given(corpus_[skipped_ + position]);
  return source_.generated(counter(position), engine_->choices());
}

Result<Finished> Campaign::judge_generated(uint64_t position) {
  engine_->begin();
  auto finished = judge(position);
  if (finished) engine_->end(finished->outcome.events);
  return finished;
}

Result<Finished> Campaign::judge(uint64_t position) {
  if (host_) return judge_in_worker(position);
  return here([&] { return keep(judge_case_twice(case_at(position), judging_)); });
}

// A new finding is on disk then, or held.
Result<Finished> Campaign::keep(Finished finished) {
  if (!finished.problem.empty()) status_.note(finished.problem);
  if (!finished.found) return finished;
  const std::string& signature = finished.outcome.signature;
  const auto added = add_finding(signature, *finished.found);
  if (!added) return Problem{added.problem()};
  if (*added == WorkDirectory::Added::written) announce("finding", signature, finished.found->title);
  finished.found.reset();
  return finished;
}

// Nothing is counted where a file can be neither written nor held: the next start judges the case again.
std::optional<Problem> Campaign::count(uint64_t position, const Finished& finished) {
  const std::lock_guard guard(mutex_);
  CaseOutcome outcome = finished.outcome;
  if (!is_corpus(position) && !outcome.invalid && !stats_.new_features(outcome).empty()) {
    const auto text = file_text(case_at(position).test_case);
    if (!text) {
      status_.note(text.problem());
      outcome = invalid(text.problem()).outcome;
    } else if (auto problem =
                   directory_.save_corpus_case(std::to_string(counter(position)) + ".json", *text)) {
      return problem;
    }
  }
  if (is_corpus(position))
    ++stats_.corpus_done;
  else
    ++stats_.next;
  stats_.add(outcome);
  files_.log_case(name(position), outcome);
  out_of_memory_ = finished.outcome.verdict == VerdictClass::out_of_memory ? out_of_memory_ + 1 : 0;
  if (out_of_memory_ < kMaxOutOfMemory || end_) return {};
  end_ = {kOutOfMemory, std::to_string(out_of_memory_) +
                            " cases in a row ran out of memory, the last: " + finished.outcome.out_of_memory +
                            "; free some, or give fewer --jobs, then start the campaign again"};
  return Problem{end_->why};
}

void Campaign::announce(const std::string& what, const std::string& signature, const std::string& title) {
  files_.log(EventLog::Level::warning, "finding",
             {{"signature", signature}, {"how", what}, {"title", title}});
  status_.note(what + ": " + (directory_.finding(signature) / kCaseFile).string() + ": " + title, Color::red);
  const std::lock_guard guard(mutex_);
  stats_.status->last_finding_s = stats_.elapsed_s + seconds_since(start_);
  to_finish_.push_back(signature);
}

// `work`, again for some seconds where it cannot write, as long as nobody wants the campaign to end.
std::optional<Problem> Campaign::patiently(const std::function<std::optional<Problem>()>& work) const {
  auto problem = work();
  for (int i = 1; problem && !end_ && !directory_.is_lost() && i < kAttemptsAtEnd; ++i) {
    if (Signals::interrupted()) break;
    std::this_thread::sleep_for(std::chrono::seconds(1));
    problem = work();
  }
  return problem;
}

// And once, after a signal, what happens next.
void Campaign::show_status() {
  const Stats stats = snapshot();
  if (Signals::interrupted() && !std::exchange(told_of_signal_, true)) {
    int64_t running = 0;
    for (const auto& [stage, threads] : stats.status.value_or(CampaignStatus()).threads) running += threads;
    status_.note((Signals::preempted() ? "preempted: finishing " : "interrupted: finishing ") +
                 counted(running, "case") +
                 ", then saving; nothing is lost, as the next start judges again what " + "is cut off" +
                 (Signals::preempted() ? "" : "; a second Ctrl-C ends at once"));
  }
  status_.show(stats);
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
  if (host_) note_gpus(stats);
  add_status(stats);
  // Also those that no counted case has: met while minimizing, or judged when the campaign had its fill.
  for (const std::string& signature : directory_.findings()) stats.findings.try_emplace(signature, 0);
  return stats;
}

// Says once that it cannot, and once that it can again.
std::optional<Problem> Campaign::save() {
  auto problem = directory_.save(saved_snapshot());
  if (problem && !cannot_write_ && !directory_.is_lost()) {
    status_.note(problem->what + "; the campaign goes on, tries again every " +
                 std::to_string(static_cast<int>(kSaveEvery)) + " s, and holds in memory what it finds, " +
                 std::to_string(HeldFiles::kMostBytes >> 20) + " MiB at most");
  }
  if (!problem && cannot_write_) status_.note("all files are written again");
  cannot_write_ = problem.has_value();
  if (problem) return problem;
  for (const auto& [signature, title] : directory_.take_written()) announce("finding", signature, title);
  const std::lock_guard guard(mutex_);
  for (; !to_finish_later_.empty(); to_finish_later_.pop_front())
    to_finish_.push_back(std::move(to_finish_later_.front()));
  return {};
}

// As they were, which follows from their numbers.
std::optional<Problem> Campaign::restore_corpus() {
  if (!engine_->repeats_cases()) return {};
  for (const std::string& name : directory_.damaged_corpus()) {
    uint64_t number = 0;
    const auto [at, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || at != name.data() + name.size() || number >= stats_.next) continue;
    const auto text = file_text(source_.generated(number, {}).test_case);
    if (!text) continue;
    if (auto problem = directory_.save_corpus_case(name + ".json", *text)) return problem;
  }
  return {};
}

std::optional<Problem> Campaign::run_workers() {
  WorkerPool::Jobs jobs;
  jobs.judge = [&](uint64_t position) {
    return is_corpus(position) ? judge(position) : judge_generated(position);
  };
  jobs.count = [&](uint64_t position, const Finished& finished) { return count(position, finished); };
  jobs.follow_up = [&] { return follow_up(); };
  jobs.stop = [&] { return over(); };
  const uint64_t corpus_cases = corpus_.size() - skipped_;
  jobs.end = options_.runs > 0 ? corpus_cases + options_.runs : UINT64_MAX;
  if (options_.total_runs > 0)
    jobs.end = std::min(jobs.end,
                        corpus_cases + options_.total_runs - std::min(options_.total_runs, first_counter_));
  end_ahead_ = jobs.end;
  WorkerPool pool(threads_, std::move(jobs));

  auto saved = Clock::now();
  while (!pool.wait(std::chrono::milliseconds(100))) {
    show_status();
    if (seconds_since(saved) < kSaveEvery) continue;
    saved = Clock::now();
    add_sample();
    if (auto problem = save(); problem && directory_.is_lost()) pool.stop(std::move(*problem));
  }
  return pool.problem();
}

std::optional<Problem> Campaign::work() {
  try {
    auto engine = make_engine(options_, directory_.path(), stats_.next);
    if (!engine) return Problem{engine.problem()};
    engine_ = std::move(*engine);
    if (auto problem = restore_corpus()) return problem;
    if (auto problem = run_workers()) return problem;
    return patiently([this] { return finish_rest(); });
  } catch (const Interrupted&) {
    return {};  // what was cut off is left as it was: the next start does it again
  }
}

// "; N files ...": what is lost where the campaign ends while it holds files.
std::string Campaign::lost_text() const {
  const auto held = static_cast<int64_t>(directory_.held());
  return held == 0 ? ""
                   : "; " + counted(held, "file") +
                         " could not be written; the next start finds again what is in them";
}

Ending Campaign::how_it_ends(bool with_problem) const {
  if (with_problem || end_) return Ending::failed;
  if (Signals::preempted()) return Ending::preempted;
  return Signals::interrupted() ? Ending::interrupted : Ending::ended;
}

int Campaign::run() {
  if (directory_.resumed()) {
    status_.note("resuming the campaign in " + directory_.path().string() + " after " +
                 counted(directory_.stats().cases, "case"));
  }
  for (const std::string& note : directory_.damaged()) status_.note(note);
  std::optional<Problem> problem = work();
  add_sample();
  ending_ = how_it_ends(problem.has_value());
  const Stats stats = saved_snapshot();
  const auto saving = patiently([&] { return directory_.save(stats); });
  status_.close();
  if (saving) directory_.leave(kEndingNames[static_cast<size_t>(Ending::failed)]);
  if (!problem) problem = saving;
  if (problem && !end_) return fail(console_, kName, problem->what + lost_text(), kCannotWrite);
  if (options_.json)
    console_.out << to_json(stats) << std::flush;
  else
    print_summary(summary_text(stats, directory_, options_.judge, console_.program), console_.out);
  if (end_) return fail(console_, kName, end_->why, end_->code);
  if (Signals::preempted()) return kPreempted;
  if (Signals::interrupted()) return kInterrupted;
  return directory_.finding_count() == 0 ? kClean : static_cast<int>(options_.error_exitcode);
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
    if (!found->refused.empty()) return Problem{found->refused[0]};
    for (const std::string& file : found->files) {
      throw_if_interrupted();
      auto test_case = read_known_case(file);
      if (!test_case) return Problem{test_case.problem()};
      if (has_data_files(*test_case))
        return Problem{file +
                       ": has data in files, which a campaign does not take; import the model with "
                       "--data=drawn"};
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

std::vector<std::string> campaign_engines() {
  std::vector<std::string> all = engines();
  if (kHasLibFuzzer) all.emplace_back(kLibFuzzer);
  return all;
}

namespace {

// Another process may be at work there, for example the one of a node that the batch system has lost.
Result<WorkDirectory> open_workdir(const CampaignOptions& options, bool& cannot_write) {
  const auto start = Clock::now();
  for (;;) {
    auto directory = WorkDirectory::open(options.workdir, identity_of(options), cannot_write);
    const bool taken =
        !directory && (FolderLock::is_taken(options.workdir) || FolderLease::is_taken(options.workdir));
    if (!taken || seconds_since(start) >= options.wait_for_workdir) return directory;
    throw_if_interrupted();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

// The rest, once the pair of backends is known and can run.
int run_with(WorkerHost* host, const CampaignOptions& options, Console& console) {
  std::string digest;
  auto corpus = read_corpus(options.corpus, digest);
  if (!corpus) return fail(console, kName, corpus.problem());
  bool cannot_write = false;
  auto directory = open_workdir(options, cannot_write);
  if (!directory) return fail(console, kName, directory.problem(), cannot_write ? kCannotWrite : kUsage);
  if (auto problem = directory->check_corpus(digest, corpus->size()))
    return fail(console, kName, problem->what);
  return Campaign(options, console, *directory, std::move(*corpus), std::move(digest), host).run();
}

// Where the pair is known.
std::optional<Problem> gpu_problem(const std::vector<std::string>& gpus, const std::string& baseline,
                                   const std::string& candidate) {
  if (gpus.empty() || has_planted_gpus() || may_use_gpu(baseline) || may_use_gpu(candidate)) return {};
  return Problem{"--gpus: " + baseline + " against " + candidate +
                 " uses no GPU; choose backends with --baseline and --candidate, or leave --gpus out"};
}

// The backends are loaded by the worker processes alone.
int supervise(CampaignOptions options, Console& console) {
  WorkerHost host(console.executable, WorkerSetup{options, console.program, std::string(console.commit), {}},
                  thread_count(options), static_cast<int>(options.processes));
  const WorkerHello hello = host.start();
  if (!hello.problem.empty()) return fail(console, kName, hello.problem, hello.code);
  if (const auto problem = gpu_problem(options.gpus, hello.baseline, hello.candidate))
    return fail(console, kName, problem->what);
  options.judge.baseline = hello.baseline;
  options.judge.candidate = hello.candidate;
  if (const auto problem = options.judge.read_known()) return fail(console, kName, problem->what);
  return run_with(&host, options, console);
}

int run_to_its_end(CampaignOptions options, Console& console) {
  if (const auto shard = parse_shard(options.shard); !shard) return fail(console, kName, shard.problem());
  // A campaign goes on with the pair that it began with, whatever this machine would pick now.
  for (const auto& [key, value] :
       {std::pair("baseline", &options.judge.baseline), std::pair("candidate", &options.judge.candidate)}) {
    if (value->empty()) *value = WorkDirectory::recorded(options.workdir, key);
  }
  const NamedBackend named[] = {{"baseline", options.judge.baseline}, {"candidate", options.judge.candidate}};
  if (const auto problem =
          programs_named_by((std::filesystem::path(options.workdir) / "campaign.json").string(), named))
    return fail(console, kName, problem->what);
  for (std::string* value : {&options.judge.baseline, &options.judge.candidate}) {
    if (!find_backend(*value)) value->clear();
  }
  if (options.engine.empty()) options.engine = WorkDirectory::recorded(options.workdir, "engine");
  // A campaign without a recorded engine is older than engines.
  if (options.engine.empty() && !WorkDirectory::recorded(options.workdir, "baseline").empty())
    options.engine = "random";
  const auto known = campaign_engines();
  if (std::find(known.begin(), known.end(), options.engine) == known.end()) options.engine = kDefaultEngine;
  if (options.engine == kLibFuzzer) {  // one case after the other
    options.jobs = 1;
    options.processes = std::min<int64_t>(1, options.processes);
  }
  if (const auto problem = gpu_names_problem(options.gpus)) return fail(console, kName, problem->what);
  if (!options.judge.baseline.empty() && !options.judge.candidate.empty()) {
    if (const auto problem = gpu_problem(options.gpus, options.judge.baseline, options.judge.candidate))
      return fail(console, kName, problem->what);
  }
  if (!console.executable.empty() && options.processes > 0) return supervise(std::move(options), console);
  if (!options.gpus.empty())
    return fail(console, kName, "--gpus: expected worker processes, not --processes=0");
  if (const auto why = options.judge.cannot_run()) return fail(console, kName, why->why, why->code);
  if (const auto problem = options.judge.read_known()) return fail(console, kName, problem->what);
  const Judging judging(options.judge);
  options.judge.baseline = judging.baseline;
  options.judge.candidate = judging.candidate;
  return run_with(nullptr, options, console);
}

}  // namespace

int run_campaign(CampaignOptions options, Console& console) {
  Signals::finish_first();
  try {
    return run_to_its_end(std::move(options), console);
  } catch (const Interrupted&) {  // before it judged a case
    return fail(console, kName, "interrupted", Signals::preempted() ? kPreempted : kInterrupted);
  }
}

}  // namespace fusesmith::fuzz
