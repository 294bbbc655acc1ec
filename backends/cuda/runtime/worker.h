// Worker: what one thread needs to run programs on the device: two streams with library handles of their own,
// and memory that grows and stays. Workers are lent from a pool; CUDA errors come as DeviceError.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/owned.h"

namespace fusesmith::backends {

// Why no program can run here now ("no NVIDIA driver", ...), or nothing.
std::optional<std::string> why_no_device();

// A worker that goes back to the pool with more memory than this gives its memory back first: device memory,
// and pinned memory in each direction.
inline constexpr int64_t kMostIdleDeviceBytes = int64_t{256} << 20;
inline constexpr int64_t kMostIdlePinnedBytes = int64_t{64} << 20;

inline constexpr size_t kWorkspaceBytes = size_t{32} << 20;  // what cuBLAS recommends for Hopper

class Worker {
 public:
  // Each stream has so much workspace for cuBLAS, and as much for cuBLASLt.
  explicit Worker(size_t workspace_bytes = kWorkspaceBytes)
      : first_(workspace_bytes), second_(workspace_bytes) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const StreamHandles& handles(int stream) const { return (stream == 0 ? first_ : second_).handles; }
  // At least `bytes` of device memory, of pinned memory to copy from, and to copy to. What stood there is
  // lost when they grow.
  std::byte* device_memory(int64_t bytes);
  std::byte* upload_memory(int64_t bytes);
  std::byte* download_memory(int64_t bytes);
  void free_memory();
  int64_t device_bytes() const { return device_.bytes; }  // that it holds

  // Marks a point of one stream, and lets the other go on only after it.
  void record(size_t event, int stream);
  void wait(size_t event, int stream);
  void synchronize(int stream);
  // Waits for both streams and gives back memory beyond the limits above; false where the device has failed.
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
    StreamHandles handles;  // to the above
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

// A worker for as long as the lease lives. It goes back to the pool once its streams are idle; a worker whose
// device has failed is never lent again.
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
