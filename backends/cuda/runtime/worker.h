// A Worker is what one thread needs to run programs on the device: two streams, each with its own library
// handles, and memory that is reused between runs and grows on demand. A pool lends workers; CUDA errors are
// thrown as DeviceError.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/owned.h"

namespace fusesmith::backends {

// The reason why no program can run on this machine now ("no GPU answers", ...), or nothing if one can.
std::optional<std::string> why_no_device();

// Limits for idle workers: a worker that returns to the pool with more device memory, or with more pinned
// memory in one direction, frees that memory.
inline constexpr int64_t kMostIdleDeviceBytes = int64_t{256} << 20;
inline constexpr int64_t kMostIdlePinnedBytes = int64_t{64} << 20;

inline constexpr size_t kWorkspaceBytes = size_t{32} << 20;  // what cuBLAS recommends for Hopper

class Worker {
 public:
  // Each stream has this much workspace for cuBLAS, and the same again for cuBLASLt.
  explicit Worker(size_t workspace_bytes = kWorkspaceBytes)
      : first_(workspace_bytes), second_(workspace_bytes) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const StreamHandles& handles(int stream) const { return (stream == 0 ? first_ : second_).handles; }
  // At least `bytes` of device memory, of pinned memory for uploads, and of pinned memory for downloads.
  // Growing discards the previous contents.
  std::byte* device_memory(int64_t bytes);
  std::byte* upload_memory(int64_t bytes);
  std::byte* download_memory(int64_t bytes);
  void free_memory();
  int64_t device_bytes() const { return device_.bytes; }  // currently allocated

  // record() marks a point in one stream; wait() makes a stream wait for that point.
  void record(size_t event, int stream);
  void wait(size_t event, int stream);
  void synchronize(int stream);
  // Waits for both streams and frees memory above the limits for idle workers; false if the device has
  // failed.
  bool settle();

 private:
  // Members are destroyed in the reverse order.
  struct Stream {
    explicit Stream(size_t workspace_bytes);
    OwnedStream stream;
    DeviceMemory workspace;
    OwnedCublas cublas;
    OwnedCublasLt cublas_lt;
    OwnedCudnn cudnn;
    StreamHandles handles;  // of the members above
  };
  template <class Owner>
  struct Memory {
    Owner data;
    int64_t bytes = 0;
  };
  template <class Owner>
  static std::byte* grow(Memory<Owner>& memory, int64_t bytes, int64_t least,
                         cudaError_t (*allocate)(void**, size_t), const char* what);

  Stream first_, second_;
  std::vector<OwnedEvent> events_;
  Memory<DeviceMemory> device_;
  Memory<PinnedMemory> upload_, download_;
};

// Holds a worker for the lifetime of the lease. The worker returns to the pool once its streams are idle; a
// worker whose device has failed is not used again.
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
