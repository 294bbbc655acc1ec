// The threads of a campaign. Cases are handed out in order and counted in order, whatever order they are
// finished in: what is counted is always a prefix of the sequence, so a killed campaign loses only what was
// in flight, and runs that again.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fuzz/supervisor/case_judge.h"

namespace fusesmith::fuzz {

class WorkerPool {
 public:
  struct Jobs {
    // Judges the case at this position of the sequence, on any thread. A problem ends the campaign.
    std::function<Result<Finished>(uint64_t position)> judge;
    // Called in order of positions, one at a time.
    std::function<std::optional<Problem>(uint64_t position, const Finished&)> count;
    // Called after each case: slow work that no count waits for.
    std::function<std::optional<Problem>()> follow_up;
    // Asked before each case is handed out.
    std::function<bool()> stop;
    uint64_t end = 0;  // the first position that is not wanted
  };

  WorkerPool(int threads, Jobs jobs);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  // Waits up to so long; true once all threads have ended. Then what a thread threw is thrown again.
  bool wait(std::chrono::milliseconds time);
  // Ends all threads after the case they are at, with this problem. A job that throws Interrupted ends them
  // too, without a problem: its case is not counted, nor those after it.
  void stop(Problem problem) { give_up(std::move(problem), nullptr); }
  // The first problem, if there was one.
  std::optional<Problem> problem();

 private:
  // Cases judged before an earlier one that takes long; more than this many wait for it.
  static constexpr uint64_t kWindow = 1 << 14;

  void work();
  void work_through();
  std::optional<uint64_t> take();
  void submit(uint64_t position, const Finished& finished);
  void give_up(std::optional<Problem> problem, std::exception_ptr thrown);

  const Jobs jobs_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t handed_out_ = 0, counted_ = 0;
  std::map<uint64_t, Finished> waiting_;
  bool failed_ = false, interrupted_ = false;
  std::optional<Problem> problem_;
  std::exception_ptr thrown_;
  int running_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace fusesmith::fuzz
