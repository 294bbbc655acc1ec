// One worker process of a campaign, as its supervisor sees it. A thread watches it, and ends it when one of
// its threads takes too long, or it takes too much memory.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backends/remote/child_process.h"
#include "fuzz/supervisor/journal.h"
#include "fuzz/supervisor/stage_watch.h"
#include "fuzz/supervisor/worker_memory.h"

namespace fusesmith::fuzz {

class CaseWorker {
 public:
  // Called about ten times a second while an answer is awaited; may throw.
  using Wait = std::function<void()>;

  struct Start {
    std::string program;
    int threads = 1;
    int64_t rss_limit_mb = 0;                // 0: none
    ChildProcess::Variables variables = {};  // of its environment
    int64_t patience_ms = 0;                 // until its first answer
    // Called from a thread of its own where the process does not end though it is killed.
    std::function<void()> on_stuck = {};
  };

  // Starts `program campaign-worker THREADS`.
  static Result<std::unique_ptr<CaseWorker>> start(Start with);
  CaseWorker(const CaseWorker&) = delete;
  CaseWorker& operator=(const CaseWorker&) = delete;
  ~CaseWorker();

  // To and from one of its threads. False or nothing: the process has ended, or is being ended.
  bool send(int thread, const std::string& message);
  std::optional<std::string> receive(int thread, const Wait& wait);

  // Gives the process up, for this reason.
  void give_up(WorkerEnding::Kind kind, std::string how);
  bool has_ended() const { return ended_; }
  // Waits until it is known, a few seconds at most.
  WorkerEnding ending();
  // It has given its first answer.
  void is_ready() {
    ready_ = true;
    journal_->slot(0).end_case();
  }
  // What a thread was at when the process ended.
  const JournalSlot& slot(int thread) { return journal_->slot(thread); }

 private:
  CaseWorker() = default;
  void watch();
  void look_for_limits(StageWatch& stages);
  void note_end();

  std::unique_ptr<ChildProcess> child_;  // used by the watching thread alone
  WorkerMemory memory_;                  // so is this
  std::unique_ptr<Journal> journal_;
  std::vector<int> sockets_;  // by thread
  Start with_;
  std::atomic<bool> ended_ = false, closing_ = false, ready_ = false;
  std::mutex mutex_;  // of what follows
  std::condition_variable known_;
  std::optional<WorkerEnding> given_up_, ending_;
  std::jthread watching_;
};

}  // namespace fusesmith::fuzz
