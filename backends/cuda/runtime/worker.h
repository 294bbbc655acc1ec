// Worker: what one thread needs to run programs on the device: two streams with library handles of their own,
// and memory that grows and stays. Workers are lent from a pool; CUDA errors come as DeviceError.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "backends/cuda/runtime/launch.h"

namespace fusesmith::backends {

// Why no program can run here now ("no NVIDIA driver", ...), or nothing.
std::optional<std::string> why_no_device();

class Worker {
 public:
  Worker();
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const StreamHandles& handles(int stream) const { return streams_[static_cast<size_t>(stream)]; }
  // At least `bytes` of device memory, of pinned memory to copy from, and to copy to. What stood there is
  // lost when they grow.
  std::byte* device_memory(int64_t bytes);
  std::byte* upload_memory(int64_t bytes);
  std::byte* download_memory(int64_t bytes);
  void free_memory();

  // Marks a point of one stream, and lets the other go on only after it.
  void record(size_t event, int stream);
  void wait(size_t event, int stream);
  void synchronize(int stream);

 private:
  struct Memory {
    void* data = nullptr;
    int64_t bytes = 0;
  };
  std::byte* grow_pinned(Memory& memory, int64_t bytes);

  std::array<StreamHandles, 2> streams_;
  std::vector<cudaEvent_t> events_;
  Memory device_, upload_, download_;
};

// A worker for as long as the lease lives.
class WorkerLease {
 public:
  WorkerLease();
  ~WorkerLease();
  WorkerLease(const WorkerLease&) = delete;
  WorkerLease& operator=(const WorkerLease&) = delete;
  Worker* operator->() const { return worker_.get(); }
  Worker& operator*() const { return *worker_; }

 private:
  std::unique_ptr<Worker> worker_;
};

}  // namespace fusesmith::backends
