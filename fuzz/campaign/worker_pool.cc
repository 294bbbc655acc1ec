#include "fuzz/campaign/worker_pool.h"

#include <system_error>
#include <utility>

#include "fuzz/run/run_case.h"

namespace fusesmith::fuzz {

WorkerPool::WorkerPool(int threads, Jobs jobs) : jobs_(std::move(jobs)), running_(threads) {
  for (int i = 0; i < threads; ++i) {
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // no more threads here: fewer do the same work
      if (i == 0) throw;
      const std::lock_guard guard(mutex_);
      running_ -= threads - i;
      break;
    }
  }
}

WorkerPool::~WorkerPool() {
  for (std::thread& thread : threads_) thread.join();
}

bool WorkerPool::wait(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, time, [this] { return running_ == 0; })) return false;
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  return true;
}

std::optional<Problem> WorkerPool::problem() {
  const std::lock_guard guard(mutex_);
  return problem_;
}

void WorkerPool::work() {
  try {
    work_through();
  } catch (const Interrupted&) {
    const std::lock_guard guard(mutex_);
    interrupted_ = true;
  } catch (...) {
    give_up({}, std::current_exception());
  }
  const std::lock_guard guard(mutex_);
  --running_;
  changed_.notify_all();
}

void WorkerPool::work_through() {
  while (const auto position = take()) {
    const auto finished = jobs_.judge(*position);
    if (!finished) return give_up(Problem{finished.problem()}, nullptr);
    submit(*position, *finished);
    if (auto problem = jobs_.follow_up()) return give_up(std::move(problem), nullptr);
  }
}

std::optional<uint64_t> WorkerPool::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return failed_ || interrupted_ || handed_out_ < counted_ + kWindow; });
  if (failed_ || interrupted_ || handed_out_ >= jobs_.end || jobs_.stop()) return {};
  return handed_out_++;
}

void WorkerPool::submit(uint64_t position, const Finished& finished) {
  const std::lock_guard guard(mutex_);
  waiting_.emplace(position, finished);
  while (!failed_ && !waiting_.empty() && waiting_.begin()->first == counted_) {
    const auto next = waiting_.extract(waiting_.begin());
    if (auto problem = jobs_.count(next.key(), next.mapped())) {
      problem_ = std::move(problem);
      failed_ = true;
    }
    ++counted_;
  }
  changed_.notify_all();
}

void WorkerPool::give_up(std::optional<Problem> problem, std::exception_ptr thrown) {
  const std::lock_guard guard(mutex_);
  if (problem && !problem_) problem_ = std::move(problem);
  if (thrown && !thrown_) thrown_ = thrown;
  failed_ = true;
  changed_.notify_all();
}

}  // namespace fusesmith::fuzz
