#include "fuzz/supervisor/worker_host.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>

#include "fuzz/base/clock.h"
#include "fuzz/base/interrupt.h"
#include "fuzz/findings/finding.h"
#include "fuzz/run/gpus.h"
#include "fuzz/run/interrupted.h"

namespace fusesmith::fuzz {

namespace {

using std::chrono::seconds;
using Kind = WorkerReply::Kind;

constexpr seconds kPatienceAfterSignal{3};
constexpr int kAttemptsToStart = 5, kAttemptsAlone = 3;
constexpr double kSecondsToStart = 120;  // in which a driver answers, even of a machine with many GPUs
constexpr std::chrono::milliseconds kPauseBeforeStart{300};

// Throws some seconds after a signal: a case may take minutes, and is judged again by the next start.
CaseWorker::Wait until_interrupted() {
  return [since = std::optional<Clock::time_point>()]() mutable {
    if (!Signals::interrupted() || Signals::preempted()) return;
    if (!since) since = Clock::now();
    if (Clock::now() - *since > kPatienceAfterSignal) throw Interrupted{};
  };
}

std::string stage_name(Stage stage) {
  return stage == Stage::compile ? "compile" : stage == Stage::run ? "run" : "judge";
}

std::string stage_text(Stage stage, const std::string& backend) {
  switch (stage) {
    case Stage::compile:
      return " while " + backend + " compiled the graph";
    case Stage::run:
      return " while " + backend + " ran the graph";
    case Stage::judge:
      return " while the results were judged";
  }
  return "";
}

// A case allocates and frees many small blocks of few sizes. glibc keeps 7 freed ones of each size for each
// thread; with 127, a case takes 7 % less time (docs/decisions.md, 97).
ChildProcess::Variables allocator_variables() {
  constexpr std::string_view kName = "GLIBC_TUNABLES", kKept = "glibc.malloc.tcache_count";
  const char* given = std::getenv(kName.data());
  std::string tunables = given ? given : "";
  if (tunables.find(kKept) != std::string::npos) return {};
  if (!tunables.empty()) tunables += ":";
  return {{std::string(kName), tunables + std::string(kKept) + "=127"}};
}

}  // namespace

// A process, and what became of the cases that it was at. Lives until all of these are judged.
struct WorkerHost::Running {
  Running(Devices& all, size_t on, std::unique_ptr<CaseWorker> started)
      : devices(all), device(on), worker(std::move(started)) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (explained)
      devices.add_explained_failure(device);
    else if (!failure.empty())
      devices.add_innocent_failure(device, failure);
  }

  void lose_device(const std::string& what) {
    {
      const std::lock_guard guard(mutex);
      if (failure.empty()) failure = what;
    }
    worker->give_up(WorkerEnding::Kind::died, "lost its device");
  }

  Devices& devices;
  const size_t device;
  const std::unique_ptr<CaseWorker> worker;
  std::atomic<bool> explained = false;  // a case does the same alone
  std::mutex mutex;                     // of what follows
  std::string failure;                  // of the device
};

// A thread of a process, while nobody else uses it. Waits for one, since those of GPUs in quarantine are
// fewer than the threads of this process.
class WorkerHost::PlaceTaken {
 public:
  explicit PlaceTaken(WorkerHost& host) : host_(host) {
    std::unique_lock lock(host_.mutex_);
    while (!take()) {
      throw_if_interrupted();
      host_.freed_.wait_for(lock, std::chrono::milliseconds(100));
    }
  }
  PlaceTaken(const PlaceTaken&) = delete;
  PlaceTaken& operator=(const PlaceTaken&) = delete;
  ~PlaceTaken() {
    const std::lock_guard guard(host_.mutex_);
    host_.free_.push_back(place);
    host_.freed_.notify_all();
  }

  Place place{};

 private:
  bool take() {
    std::erase_if(host_.free_, [&](const Place& free) {
      return !host_.devices_->is_usable(host_.processes_[free.process]->device);
    });
    if (host_.devices_->usable() == 0) throw HostError{kDeviceUnhealthy, host_.devices_->why_none()};
    if (host_.free_.empty()) return false;
    place = host_.free_.back();
    host_.free_.pop_back();
    return true;
  }

  WorkerHost& host_;
};

WorkerHost::WorkerHost(std::string program, WorkerSetup setup, int threads, int processes)
    : program_(std::move(program)),
      setup_(std::move(setup)),
      wanted_threads_(threads),
      wanted_processes_(processes) {}

WorkerHost::~WorkerHost() = default;

void WorkerHost::make_places() {
  const int processes = std::max(wanted_processes_, static_cast<int>(devices_->size()));
  for (int i = 0; i < processes; ++i) {
    processes_.push_back(std::make_unique<Process>());
    processes_.back()->device = static_cast<size_t>(i) % devices_->size();
  }
  for (int i = 0; i < std::max(wanted_threads_, processes); ++i) {
    const auto index = static_cast<size_t>(i % processes);
    places_.push_back({index, processes_[index]->threads++});
  }
  free_ = {places_.rbegin(), places_.rend()};
}

// Again where a process was stopped meanwhile, or had no CPU.
std::unique_ptr<CaseWorker> WorkerHost::start_process(size_t device, int threads, bool lists_gpus,
                                                      WorkerHello& hello) {
  for (int attempt = 1;; ++attempt) {
    auto worker = start_once(device, threads, lists_gpus, hello);
    if (worker || hello.code != kPreempted || attempt == kAttemptsToStart) return worker;
  }
}

std::unique_ptr<CaseWorker> WorkerHost::start_once(size_t device, int threads, bool lists_gpus,
                                                   WorkerHello& hello) {
  WorkerSetup setup = setup_;
  setup.lists_gpus = lists_gpus;
  CaseWorker::Start start{program_, threads, setup_.options.rss_limit_mb};
  start.variables = allocator_variables();
  start.patience_ms =
      static_cast<int64_t>(1000 * (kSecondsToStart + 2 * setup.options.judge.compile_timeout));
  if (!lists_gpus && devices_->is_named(device)) {
    setup.gpus = {devices_->gpu(device)};
    start.variables.emplace("CUDA_VISIBLE_DEVICES", setup.gpus[0].uuid);
    start.on_stuck = [this, device] {
      devices_->quarantine(device, "a worker process does not end, though it was killed");
    };
  }
  auto worker = CaseWorker::start(std::move(start));
  if (!worker) {
    hello.problem = "cannot start a worker process: " + worker.problem();
    hello.code = kOutOfMemory;
    return nullptr;
  }
  (*worker)->send(0, to_message(setup));
  const auto message = (*worker)->receive(0, throw_if_interrupted);
  const auto answer = message ? parse_hello(*message) : std::nullopt;
  if (answer) {
    (*worker)->is_ready();
    hello = *answer;
    return hello.problem.empty() ? std::move(*worker) : nullptr;
  }
  throw_if_interrupted();  // what ended this process's workers as well: no case is to blame
  const WorkerEnding ending = (*worker)->ending();
  hello.problem = "a worker process " + ending.how + " when it was started" +
                  (ending.errors.empty() ? "" : ": " + ending.errors);
  // A driver that does not answer; what ended a worker otherwise, ends those of other GPUs as well.
  const bool by_others =
      ending.kind == WorkerEnding::Kind::overloaded || ending.kind == WorkerEnding::Kind::stopped;
  hello.code = by_others                                      ? kPreempted
               : ending.kind == WorkerEnding::Kind::timed_out ? kDeviceUnhealthy
                                                              : kOutOfMemory;
  return nullptr;
}

// In a process of its own, so that this one never loads CUDA.
bool WorkerHost::find_gpus(WorkerHello& hello) {
  if (setup_.options.gpus.empty()) return true;
  if (!start_process(0, 1, true, hello)) return false;
  auto gpus = choose_gpus(setup_.options.gpus, hello.gpus);
  if (!gpus) {
    hello.problem = gpus.problem();
    hello.code = kDeviceUnhealthy;
    return false;
  }
  devices_ = std::make_unique<Devices>(std::move(*gpus));
  return true;
}

WorkerHello WorkerHost::start() {
  WorkerHello hello;
  if (!find_gpus(hello)) return hello;
  make_places();
  for (size_t i = 0; i < devices_->size(); ++i) {
    Process& first = *processes_[i];
    if (auto worker = start_process(first.device, first.threads, false, hello)) {
      first.running = std::make_shared<Running>(*devices_, first.device, std::move(worker));
      break;
    }
    if (hello.code != kDeviceUnhealthy || !devices_->is_named(first.device)) return hello;
    devices_->quarantine(first.device, hello.problem);
  }
  if (devices_->usable() == 0) {
    hello.problem = devices_->why_none();
    return hello;
  }
  setup_.options.judge.baseline = hello.baseline;
  setup_.options.judge.candidate = hello.candidate;
  environment_ = hello.environment;
  name_all_gpus();
  return hello;
}

// In reports of cases that ended their processes, on whichever GPU.
void WorkerHost::name_all_gpus() {
  const std::vector<CampaignGpu> gpus = devices_->states();
  if (gpus.empty()) return;
  const auto at = std::find_if(environment_.begin(), environment_.end(),
                               [](const auto& entry) { return entry.first == "GPU"; }) -
                  environment_.begin();
  std::erase_if(environment_, [](const auto& entry) { return entry.first == "GPU"; });
  for (auto gpu = gpus.rbegin(); gpu != gpus.rend(); ++gpu)
    environment_.insert(environment_.begin() + std::min(at, std::ssize(environment_)),
                        environment_entry(gpu->gpu));
}

// Null where the GPU is in quarantine, or is put there now, because none starts.
std::unique_ptr<CaseWorker> WorkerHost::start_on(size_t device, int threads) {
  WorkerHello hello;
  for (int attempt = 1; devices_->is_usable(device); ++attempt) {
    if (auto worker = start_process(device, threads, false, hello)) return worker;
    if (attempt == kAttemptsToStart && hello.code != kDeviceUnhealthy)
      throw HostError{hello.code, hello.problem};
    if (attempt == kAttemptsToStart) devices_->quarantine(device, hello.problem);
    throw_if_interrupted();
    std::this_thread::sleep_for(kPauseBeforeStart);
  }
  return nullptr;
}

std::unique_ptr<CaseWorker> WorkerHost::start_alone(std::optional<size_t> not_on, size_t& device) {
  while (const auto next = devices_->next(not_on)) {
    device = *next;
    if (auto worker = start_on(device, 1)) return worker;
  }
  throw HostError{kDeviceUnhealthy, devices_->why_none()};
}

std::shared_ptr<WorkerHost::Running> WorkerHost::process(size_t index) {
  Process& process = *processes_[index];
  const std::lock_guard guard(process.mutex);
  if (!process.running || process.running->worker->has_ended()) {
    if (process.running) ++restarts_;
    process.running.reset();
    if (auto worker = start_on(process.device, process.threads))
      process.running = std::make_shared<Running>(*devices_, process.device, std::move(worker));
  }
  return process.running;
}

std::map<std::string, int64_t> WorkerHost::stages() {
  std::map<std::string, int64_t> stages;
  for (const auto& process : processes_) {
    const std::unique_lock lock(process->mutex, std::try_to_lock);
    if (!lock || !process->running || process->running->worker->has_ended()) continue;
    for (int thread = 0; thread < process->threads; ++thread) {
      const JournalSlot& slot = process->running->worker->slot(thread);
      if (slot.since != 0) ++stages[stage_name(slot.stage)];
    }
  }
  return stages;
}

std::optional<WorkerReply> WorkerHost::ask(CaseWorker& worker, int thread, const WorkerRequest& request,
                                           const KeepOther& keep_other) {
  const auto wait = until_interrupted();
  if (!worker.send(thread, to_message(request))) return {};
  while (const auto message = worker.receive(thread, wait)) {
    auto reply = parse_reply(*message);
    if (!reply) {
      worker.give_up(WorkerEnding::Kind::died, "sent a damaged message");
      return {};
    }
    if (reply->kind == Kind::interrupted) throw Interrupted{};
    if (reply->kind != Kind::other_finding) return reply;
    const bool kept = keep_other && keep_other(reply->finished);
    const auto answer = kept ? WorkerRequest::Kind::kept : WorkerRequest::Kind::not_kept;
    if (!worker.send(thread, to_message(WorkerRequest{answer, ""}))) return {};
  }
  return {};
}

HostJudged WorkerHost::judge(const WorkerRequest& request) {
  std::shared_ptr<Running> running;
  bool late = false;
  while (!running) {
    const PlaceTaken taken(*this);
    running = process(taken.place.process);
    if (!running) continue;
    auto reply = ask(*running->worker, taken.place.thread, request);
    if (reply && reply->kind == Kind::problem) throw HostError{kUsage, reply->text};
    late = reply && reply->kind == Kind::done && is_late(reply->finished);
    if (reply && reply->kind == Kind::done && !late) return {std::move(reply->finished)};
    if (reply && !late) running->lose_device(reply->text);
  }
  throw_if_interrupted();
  WorkerRequest longer = request;
  longer.limits = kLongerLimits;
  return late ? Alone(*this).judge(longer) : judge_alone(longer, *running);
}

// After the process ended that was at the case, perhaps because its device failed. Where there are several
// GPUs, a case must make two of them fail, so that a GPU that fails with any case is not taken for a finding.
HostJudged WorkerHost::judge_alone(const WorkerRequest& request, Running& seen_on) {
  Alone alone(*this, seen_on.device);
  HostJudged judged = alone.judge(request);
  const auto device_failed = [&] {
    const std::lock_guard guard(seen_on.mutex);
    return !seen_on.failure.empty();
  };
  if (judged.device && !device_failed() && devices_->usable() > 1) {
    Alone again(*this, alone.device());
    const std::string what = judged.device->what();
    judged = again.judge(request);
    if (!judged.device) devices_->add_innocent_failure(alone.device(), what);
  }
  if (judged.device || judged.failure) seen_on.explained = true;
  return judged;
}

Result<bool> WorkerHost::finish(const std::string& signature, bool minimize, double max_seconds,
                                const KeepOther& keep_other, std::string& why) {
  const WorkerRequest request{WorkerRequest::Kind::finish, signature, why, minimize, max_seconds};
  bool others_kept = true;
  const KeepOther keep = [&](const Finished& other) {
    return others_kept = keep_other(other) && others_kept;
  };
  const auto finished = [&](CaseWorker& worker, int thread) -> Result<bool> {
    const auto reply = ask(worker, thread, request, keep);
    if (reply && reply->kind == Kind::problem) return Problem{reply->text};
    if (reply && reply->kind == Kind::done) return true;
    if (reply) worker.give_up(WorkerEnding::Kind::died, "lost its device: " + reply->text);
    throw_if_interrupted();
    if (!others_kept) return Problem{kOtherNotKept};
    const WorkerEnding ending = worker.ending();
    why = "the worker process " + ending.how + (ending.errors.empty() ? "" : ": " + ending.errors);
    return false;
  };
  {
    const PlaceTaken taken(*this);
    if (const auto running = process(taken.place.process)) {
      auto done = finished(*running->worker, taken.place.thread);
      if (!done || *done) return done;
      running->explained = true;  // by a smaller case, most likely
    }
  }
  // The cause may have been a case of another thread.
  size_t device = 0;
  const auto worker = start_alone({}, device);
  return finished(*worker, 0);
}

WorkerError WorkerHost::failure_of(CaseWorker& worker, const WorkerEnding& ending) const {
  const bool memory =
      ending.kind == WorkerEnding::Kind::out_of_memory || ending.kind == WorkerEnding::Kind::killed;
  const bool overloaded =
      ending.kind == WorkerEnding::Kind::overloaded || ending.kind == WorkerEnding::Kind::stopped;
  const auto kind = memory                                         ? WorkerError::Kind::out_of_memory
                    : overloaded                                   ? WorkerError::Kind::overloaded
                    : ending.kind == WorkerEnding::Kind::timed_out ? WorkerError::Kind::timed_out
                                                                   : WorkerError::Kind::died;
  const JudgeFlags& flags = setup_.options.judge;
  const JournalSlot& slot = worker.slot(0);
  const std::string& backend = slot.role == BackendRole::baseline ? flags.baseline : flags.candidate;
  return {kind, backend,
          "the worker process " + ending.how + stage_text(slot.stage, backend) +
              (ending.errors.empty() ? "" : ": " + ending.errors)};
}

std::optional<WorkerReply> WorkerHost::Alone::ask(const WorkerRequest& request,
                                                  std::optional<WorkerError>& failure) {
  for (int attempt = 1;; ++attempt) {
    if (!worker_ || worker_->has_ended()) worker_ = host_.start_alone(not_on_, device_);
    if (auto reply = WorkerHost::ask(*worker_, 0, request)) return reply;
    throw_if_interrupted();
    const WorkerEnding ending = worker_->ending();
    failure = host_.failure_of(*worker_, ending);
    worker_.reset();
    const bool from_outside =
        ending.kind == WorkerEnding::Kind::killed || ending.kind == WorkerEnding::Kind::stopped;
    if (!from_outside || attempt == kAttemptsAlone) return {};
  }
}

HostJudged WorkerHost::Alone::judge(const WorkerRequest& request) {
  HostJudged judged;
  auto reply = ask(request, judged.failure);
  if (!reply) return judged;
  judged.failure.reset();
  if (reply->kind == Kind::problem) throw HostError{kUsage, reply->text};
  if (reply->kind == Kind::device_failed) judged.device.emplace(DeviceError::Kind::unhealthy, reply->text);
  judged.finished = std::move(reply->finished);
  return judged;
}

BriefVerdict WorkerHost::Alone::query(const Case& test_case) {
  std::optional<WorkerError> failure;
  const auto reply = ask({WorkerRequest::Kind::query, "", to_json(test_case)}, failure);
  if (!reply) throw WorkerError(*failure);
  if (reply->kind == Kind::problem) throw HostError{kUsage, reply->text};
  if (reply->kind == Kind::done) return reply->verdict;
  worker_.reset();
  throw DeviceError(DeviceError::Kind::unhealthy, reply->text);
}

}  // namespace fusesmith::fuzz
