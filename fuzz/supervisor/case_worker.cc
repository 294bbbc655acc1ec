#include "fuzz/supervisor/case_worker.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "backends/remote/compile_cache.h"
#include "backends/remote/worker_process.h"
#include "fuzz/base/interrupt.h"
#include "fuzz/supervisor/frames.h"
#include "fuzz/supervisor/worker_messages.h"

namespace fusesmith::fuzz {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kWatchEvery{20};
constexpr std::chrono::seconds kPatienceWithSigterm{5};

void close_all(std::vector<int>& descriptors) {
  for (const int descriptor : descriptors) close(descriptor);
  descriptors.clear();
}

}  // namespace

Result<std::unique_ptr<CaseWorker>> CaseWorker::start(Start with) {
  std::unique_ptr<CaseWorker> worker(new CaseWorker());
  worker->with_ = std::move(with);
  const int threads = worker->with_.threads;
  worker->journal_ = Journal::make(threads);
  if (!worker->journal_) return Problem{std::string("cannot make shared memory: ") + std::strerror(errno)};
  if (worker->with_.patience_ms > 0) worker->journal_->slot(0).begin_case(worker->with_.patience_ms);
  std::vector<int> inherited = {worker->journal_->descriptor()}, others;
  for (int i = 0; i < threads; ++i) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      const int error = errno;
      close_all(others);
      return Problem{std::string("cannot make sockets: ") + std::strerror(error)};
    }
    worker->sockets_.push_back(ends[0]);
    others.push_back(ends[1]);
  }
  inherited.insert(inherited.end(), others.begin(), others.end());
  auto child =
      ChildProcess::start({worker->with_.program, std::string(kCampaignWorker), std::to_string(threads)},
                          inherited, worker->with_.variables);
  close_all(others);
  if (!child) return Problem{child.problem()};
  worker->child_ = std::move(*child);
  worker->watching_ = std::jthread([watched = worker.get()] { watched->watch(); });
  return worker;
}

CaseWorker::~CaseWorker() {
  closing_ = true;
  if (watching_.joinable()) watching_.join();
  child_.reset();  // closes its standard input, at which it ends
  CompileCache::remove_left_ones();
  close_all(sockets_);
}

bool CaseWorker::send(int thread, const std::string& message) {
  return !ended_ && write_message(sockets_[static_cast<size_t>(thread)], message);
}

std::optional<std::string> CaseWorker::receive(int thread, const Wait& wait) {
  try {
    constexpr MessageLimits kHello{1 << 20};
    return read_message(sockets_[static_cast<size_t>(thread)], wait, ready_ ? MessageLimits{} : kHello);
  } catch (const DamagedMessage& message) {
    give_up(WorkerEnding::Kind::died, "sent " + message.how);
    return {};
  }
}

void CaseWorker::give_up(WorkerEnding::Kind kind, std::string how) {
  const std::lock_guard guard(mutex_);
  if (!given_up_ && !ending_) given_up_ = {kind, std::move(how), ""};
}

WorkerEnding CaseWorker::ending() {
  std::unique_lock lock(mutex_);
  known_.wait_for(lock, kPatienceWithSigterm + std::chrono::seconds(1),
                  [this] { return ending_.has_value(); });
  return ending_.value_or(WorkerEnding{WorkerEnding::Kind::died, "closed its sockets", ""});
}

// The answers that are awaited will not come: whoever waits is told at once, though the process may take some
// seconds to end.
void CaseWorker::note_end() {
  const std::lock_guard guard(mutex_);
  ending_ = given_up_;
  if (!ending_) {
    const int signal = child_->ending_signal();
    const bool from_outside = signal == SIGKILL || signal == SIGTERM;
    ending_ = {from_outside ? WorkerEnding::Kind::killed : WorkerEnding::Kind::died,
               "ended with " + child_->how_it_ended(), ""};
  }
  ending_->errors = one_line(child_->last_errors(ChildProcess::kLineOfErrors));
  ended_ = true;
  for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
  known_.notify_all();
}

void CaseWorker::watch() {
  ProcessClock clock(child_->id());
  StageWatch stages(*journal_, clock);
  while (!closing_) {
    child_->read_errors_for(kWatchEvery);
    if (child_->ended_within(milliseconds(0))) return note_end();
    if (Signals::interrupted()) journal_->stop();
    look_for_limits(stages);
    {
      const std::lock_guard guard(mutex_);
      if (!given_up_) continue;
    }
    note_end();
    child_->terminate();
    child_->ended_within(kPatienceWithSigterm);
    if (!child_->kill() && with_.on_stuck) with_.on_stuck();
    return;
  }
}

void CaseWorker::look_for_limits(StageWatch& stages) {
  for (int i = 0; i < journal_->size(); ++i) {
    if (!journal_->slot(i).is_valid()) give_up(WorkerEnding::Kind::died, "wrote over its journal");
  }
  if (auto ending = stages.look()) give_up(ending->kind, std::move(ending->how));
  if (with_.rss_limit_mb > 0 && memory_.exceeds(child_->id(), static_cast<double>(with_.rss_limit_mb)))
    give_up(WorkerEnding::Kind::out_of_memory,
            "used more than --rss_limit_mb=" + std::to_string(with_.rss_limit_mb));
}

}  // namespace fusesmith::fuzz
