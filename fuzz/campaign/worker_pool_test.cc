#include "fuzz/campaign/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <stdexcept>

#include "fuzz/run/run_case.h"

namespace fusesmith::fuzz {
namespace {

using std::chrono::milliseconds;

struct Counter {
  std::vector<uint64_t> counted;
  std::atomic<bool> stop = false;

  WorkerPool::Jobs jobs(uint64_t end) {
    WorkerPool::Jobs jobs;
    jobs.judge = [](uint64_t position) -> Result<Finished> {
      if (position % 7 == 0) std::this_thread::sleep_for(milliseconds(2));  // so that others overtake it
      return Finished{};
    };
    jobs.count = [this](uint64_t position, const Finished&) -> std::optional<Problem> {
      counted.push_back(position);
      return {};
    };
    jobs.follow_up = []() -> std::optional<Problem> { return {}; };
    jobs.stop = [this] { return stop.load(); };
    jobs.end = end;
    return jobs;
  }
};

std::vector<uint64_t> up_to(uint64_t end) {
  std::vector<uint64_t> numbers(end);
  for (uint64_t i = 0; i < end; ++i) numbers[i] = i;
  return numbers;
}

void finish(WorkerPool& pool) {
  while (!pool.wait(milliseconds(50))) {
  }
}

TEST(WorkerPool, CountsEveryPositionOnceAndInOrder) {
  for (const int threads : {1, 4}) {
    Counter counter;
    WorkerPool pool(threads, counter.jobs(100));
    finish(pool);
    EXPECT_EQ(counter.counted, up_to(100));
    EXPECT_FALSE(pool.problem());
  }
}

TEST(WorkerPool, StoppedItHasCountedAPrefix) {
  Counter counter;
  auto jobs = counter.jobs(UINT64_MAX);
  jobs.follow_up = [&, calls = std::make_shared<std::atomic<int>>(0)]() -> std::optional<Problem> {
    if (++*calls == 50) counter.stop = true;
    return {};
  };
  WorkerPool pool(3, std::move(jobs));
  finish(pool);
  EXPECT_GE(counter.counted.size(), 50U);
  EXPECT_EQ(counter.counted, up_to(counter.counted.size()));
}

TEST(WorkerPool, AProblemEndsItWithoutCountingThatCase) {
  Counter counter;
  auto jobs = counter.jobs(UINT64_MAX);
  jobs.judge = [](uint64_t position) -> Result<Finished> {
    if (position == 20) return Problem{"disk full"};
    return Finished{};
  };
  WorkerPool pool(3, std::move(jobs));
  finish(pool);
  ASSERT_TRUE(pool.problem());
  EXPECT_EQ(pool.problem()->what, "disk full");
  EXPECT_LE(counter.counted.size(), 20U);
}

// The other thread then waits for the case that was cut off, as far ahead of it as it may be.
TEST(WorkerPool, ACaseThatIsCutOffEndsItWithoutCountingOn) {
  Counter counter;
  auto jobs = counter.jobs(UINT64_MAX);
  jobs.judge = [judged = std::make_shared<std::atomic<int>>(0)](uint64_t position) -> Result<Finished> {
    ++*judged;
    if (position != 3) return Finished{};
    for (int last = 0; last != *judged;) {
      last = *judged;
      std::this_thread::sleep_for(milliseconds(50));
    }
    throw Interrupted{};
  };
  WorkerPool pool(2, std::move(jobs));
  finish(pool);
  EXPECT_FALSE(pool.problem());
  EXPECT_EQ(counter.counted, up_to(3));
}

TEST(WorkerPool, WhatAThreadThrowsComesOut) {
  Counter counter;
  auto jobs = counter.jobs(100);
  jobs.judge = [](uint64_t) -> Result<Finished> { throw std::bad_alloc(); };
  WorkerPool pool(2, std::move(jobs));
  EXPECT_THROW(finish(pool), std::bad_alloc);
}

}  // namespace
}  // namespace fusesmith::fuzz
