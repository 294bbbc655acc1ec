#include "fuzz/campaign/worker_host.h"

#include <algorithm>
#include <thread>

#include "fuzz/base/interrupt.h"

namespace fusesmith::fuzz {

namespace {

using std::chrono::seconds;
using Clock = std::chrono::steady_clock;
using Kind = WorkerReply::Kind;

constexpr seconds kPatienceAfterSignal{3};
constexpr int kAttemptsToStart = 5, kAttemptsAlone = 3, kMostInnocentDeviceFailures = 3;
constexpr std::chrono::milliseconds kPauseBeforeStart{300};

// Throws some seconds after a signal: a case may take minutes, and is judged again by the next start.
CaseWorker::Wait until_interrupted() {
  return [since = std::optional<Clock::time_point>()]() mutable {
    if (!InterruptGuard::interrupted() || InterruptGuard::preempted()) return;
    if (!since) since = Clock::now();
    if (Clock::now() - *since > kPatienceAfterSignal) throw Interrupted{};
  };
}

// A worker that was ended by the same signal as this process, or because of it: no case is to blame.
void throw_if_interrupted() {
  if (InterruptGuard::interrupted()) throw Interrupted{};
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

}  // namespace

// A thread of a process, while nobody else uses it.
class WorkerHost::PlaceTaken {
 public:
  explicit PlaceTaken(WorkerHost& host) : host_(host) {
    const std::lock_guard guard(host_.mutex_);
    check(!host_.free_.empty(), "the supervisor has as many threads as its workers");
    place = host_.free_.back();
    host_.free_.pop_back();
  }
  PlaceTaken(const PlaceTaken&) = delete;
  PlaceTaken& operator=(const PlaceTaken&) = delete;
  ~PlaceTaken() {
    const std::lock_guard guard(host_.mutex_);
    host_.free_.push_back(place);
  }

  Place place{};

 private:
  WorkerHost& host_;
};

WorkerHost::WorkerHost(std::string program, WorkerSetup setup, int threads, int processes)
    : program_(std::move(program)), setup_(std::move(setup)) {
  for (int i = 0; i < processes; ++i) processes_.push_back(std::make_unique<Process>());
  for (int i = 0; i < std::max(threads, processes); ++i) {
    const auto index = static_cast<size_t>(i % processes);
    places_.push_back({index, processes_[index]->threads++});
  }
  free_ = {places_.rbegin(), places_.rend()};
}

std::unique_ptr<CaseWorker> WorkerHost::start_process(int threads, WorkerHello& hello) const {
  auto worker = CaseWorker::start(program_, threads, setup_.options.rss_limit_mb);
  if (!worker) {
    hello.problem = "cannot start a worker process: " + worker.problem();
    hello.code = kOutOfMemory;
    return nullptr;
  }
  (*worker)->send(0, to_message(setup_));
  const auto message = (*worker)->receive(0, until_interrupted());
  const auto answer = message ? parse_hello(*message) : std::nullopt;
  if (answer) {
    hello = *answer;
    return hello.problem.empty() ? std::move(*worker) : nullptr;
  }
  throw_if_interrupted();
  const WorkerEnding ending = (*worker)->ending();
  hello.problem = "a worker process " + ending.how + " when it was started" +
                  (ending.errors.empty() ? "" : ": " + ending.errors);
  hello.code = kOutOfMemory;
  return nullptr;
}

WorkerHello WorkerHost::start() {
  WorkerHello hello;
  processes_[0]->worker = start_process(processes_[0]->threads, hello);
  setup_.options.judge.baseline = hello.baseline;
  setup_.options.judge.candidate = hello.candidate;
  environment_ = hello.environment;
  return hello;
}

std::unique_ptr<CaseWorker> WorkerHost::start_or_throw(int threads) const {
  WorkerHello hello;
  for (int attempt = 1;; ++attempt) {
    if (auto worker = start_process(threads, hello)) return worker;
    if (attempt == kAttemptsToStart) throw HostError{hello.code, hello.problem};
    throw_if_interrupted();
    std::this_thread::sleep_for(kPauseBeforeStart);
  }
}

std::shared_ptr<CaseWorker> WorkerHost::process(size_t index) {
  Process& process = *processes_[index];
  const std::lock_guard guard(process.mutex);
  if (!process.worker || process.worker->has_ended()) {
    if (process.worker) ++restarts_;
    process.worker = start_or_throw(process.threads);
  }
  return process.worker;
}

std::map<std::string, int64_t> WorkerHost::stages() {
  std::map<std::string, int64_t> stages;
  for (const auto& process : processes_) {
    const std::unique_lock lock(process->mutex, std::try_to_lock);
    if (!lock || !process->worker || process->worker->has_ended()) continue;
    for (int thread = 0; thread < process->threads; ++thread) {
      const JournalSlot& slot = process->worker->slot(thread);
      if (slot.since != 0) ++stages[stage_name(slot.stage)];
    }
  }
  return stages;
}

std::optional<WorkerReply> WorkerHost::ask(CaseWorker& worker, int thread, const WorkerRequest& request,
                                           const OnOther& other) {
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
    if (other) other(reply->finished);
  }
  return {};
}

HostJudged WorkerHost::judge(const std::string& name, const std::string& text) {
  const WorkerRequest request{WorkerRequest::Kind::judge, name, text};
  std::string device_failure;
  {
    const PlaceTaken taken(*this);
    const auto worker = process(taken.place.process);
    auto reply = ask(*worker, taken.place.thread, request);
    if (reply && reply->kind == Kind::problem) throw HostError{kUsage, reply->text};
    if (reply && reply->kind == Kind::done) return {std::move(reply->finished)};
    if (reply) {
      device_failure = reply->text;
      worker->give_up(WorkerEnding::Kind::died, "lost its device");
    }
  }
  throw_if_interrupted();
  HostJudged judged = Alone(*this).judge(request);
  if (!device_failure.empty()) count_device_failure(!judged.device, device_failure);
  return judged;
}

void WorkerHost::count_device_failure(bool innocent, const std::string& what) {
  const std::lock_guard guard(mutex_);
  innocent_device_failures_ = innocent ? innocent_device_failures_ + 1 : 0;
  if (innocent_device_failures_ >= kMostInnocentDeviceFailures)
    throw HostError{kDeviceUnhealthy,
                    "the device failed " + std::to_string(innocent_device_failures_) +
                        " times with cases that run alone without a failure, the last: " + what};
}

Result<bool> WorkerHost::finish(const std::string& signature, bool minimize, const OnOther& other,
                                std::string& why) {
  const WorkerRequest request{WorkerRequest::Kind::finish, signature, why, minimize};
  const auto finished = [&](CaseWorker& worker, int thread) -> Result<bool> {
    const auto reply = ask(worker, thread, request, other);
    if (reply && reply->kind == Kind::problem) return Problem{reply->text};
    if (reply && reply->kind == Kind::done) return true;
    if (reply) worker.give_up(WorkerEnding::Kind::died, "lost its device: " + reply->text);
    throw_if_interrupted();
    const WorkerEnding ending = worker.ending();
    why = "the worker process " + ending.how + (ending.errors.empty() ? "" : ": " + ending.errors);
    return false;
  };
  {
    const PlaceTaken taken(*this);
    const auto worker = process(taken.place.process);
    auto done = finished(*worker, taken.place.thread);
    if (!done || *done) return done;
  }
  // The cause may have been a case of another thread.
  const auto worker = start_or_throw(1);
  return finished(*worker, 0);
}

WorkerError WorkerHost::failure_of(CaseWorker& worker, const WorkerEnding& ending) const {
  const bool memory =
      ending.kind == WorkerEnding::Kind::out_of_memory || ending.kind == WorkerEnding::Kind::killed;
  const auto kind = memory                                         ? WorkerError::Kind::out_of_memory
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
    if (!worker_ || worker_->has_ended()) worker_ = host_.start_or_throw(1);
    if (auto reply = WorkerHost::ask(*worker_, 0, request)) return reply;
    throw_if_interrupted();
    const WorkerEnding ending = worker_->ending();
    failure = host_.failure_of(*worker_, ending);
    worker_.reset();
    if (ending.kind != WorkerEnding::Kind::killed || attempt == kAttemptsAlone) return {};
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
