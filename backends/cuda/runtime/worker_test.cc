// Workers on a GPU: what they give back, and when they may be lent again.
#include "backends/cuda/runtime/worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "backends/cuda/runtime/check.h"
#include "backends/device_error.h"

namespace fusesmith::backends {
namespace {

class CudaWorker : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = why_no_device()) GTEST_SKIP() << *why;
  }
};

size_t free_bytes() {
  size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return free;
}

// The first stream's workspace takes more than half of the device's memory, so that there is none for the
// second.
TEST_F(CudaWorker, AConstructorThatThrowsLeaksNothing) {
  { const Worker loads_the_libraries; }
  const size_t before = free_bytes(), workspace = before / 20 * 6;
  for (int i = 0; i < 3; ++i) {
    try {
      const Worker worker(workspace);
      FAIL() << "the device has more memory than it says";
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.kind(), DeviceError::Kind::out_of_memory) << error.what();
    }
    EXPECT_GT(free_bytes(), before / 2);
  }
}

TEST_F(CudaWorker, IdleWorkersHoldLittleMemory) {
  {
    WorkerLease lease;
    lease->device_memory(kMostIdleDeviceBytes + 1);
    EXPECT_GT(lease->device_bytes(), kMostIdleDeviceBytes);
  }
  EXPECT_LE(WorkerLease()->device_bytes(), kMostIdleDeviceBytes);
  {
    WorkerLease lease;
    lease->device_memory(1 << 20);
  }
  EXPECT_GT(WorkerLease()->device_bytes(), 0);  // kept for the next run
}

// A case that throws after it has launched on the second stream.
TEST_F(CudaWorker, IsNotLentWhileAStreamRuns) {
  std::atomic<bool> done = false;
  try {
    WorkerLease lease;
    const auto sleep = [](void* flag) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      *static_cast<std::atomic<bool>*>(flag) = true;
    };
    check_cuda(cudaLaunchHostFunc(lease->handles(1).stream, sleep, &done), "cudaLaunchHostFunc");
    throw std::runtime_error("a launch failed");
  } catch (const std::runtime_error&) {
    EXPECT_TRUE(done);
  }
  cudaDeviceSynchronize();
}

}  // namespace
}  // namespace fusesmith::backends
