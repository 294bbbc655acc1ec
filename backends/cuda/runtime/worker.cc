#include "backends/cuda/runtime/worker.h"

#include <algorithm>
#include <mutex>

#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/grow_memory.h"
#include "backends/cuda/runtime/library_calls.h"
#include "backends/device_error.h"

namespace fusesmith::backends {
namespace {

// Idle workers are kept until the process ends: the driver then frees their memory, and destroying handles
// after the driver has shut down would fail.
struct WorkerPool {
  std::mutex mutex;
  std::vector<std::unique_ptr<Worker>> idle;
};

WorkerPool& pool() {
  static auto* const workers = new WorkerPool;
  return *workers;
}

void free_idle_memory() {
  const std::lock_guard guard(pool().mutex);
  for (const auto& worker : pool().idle) worker->free_memory();
}

}  // namespace

std::optional<std::string> why_no_device() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (status == cudaErrorInsufficientDriver) return "the NVIDIA driver is missing or too old for CUDA 13";
  if (status != cudaSuccess) return std::string("no GPU answers: ") + cudaGetErrorString(status);
  if (count == 0) return "no GPU answers";
  int major = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) != cudaSuccess)
    return "the GPU does not answer";
  if (major < 8) return "the GPU's compute capability is below 8.0";
  return why_no_libraries();
}

Worker::Stream::Stream(size_t workspace_bytes)
    : stream(owned<OwnedStream>([](cudaStream_t* made) {
        check_cuda(cudaStreamCreateWithFlags(made, cudaStreamNonBlocking), "cudaStreamCreate");
      })),
      workspace(owned<DeviceMemory>([&](void** made) {
        check_cuda(cudaMalloc(made, 2 * workspace_bytes), "cudaMalloc of the libraries' workspace");
      })),
      cublas(
          owned<OwnedCublas>([](cublasHandle_t* made) { check_cublas(cublasCreate(made), "cublasCreate"); })),
      cublas_lt(owned<OwnedCublasLt>(
          [](cublasLtHandle_t* made) { check_cublas(cublasLtCreate(made), "cublasLtCreate"); })),
      cudnn(owned<OwnedCudnn>([](cudnnHandle_t* made) { check_cudnn(cudnnCreate(made), "cudnnCreate"); })) {
  check_cublas(cublasSetStream(cublas.get(), stream.get()), "cublasSetStream");
  void* const second = static_cast<std::byte*>(workspace.get()) + workspace_bytes;
  check_cublas(cublasSetWorkspace(cublas.get(), second, workspace_bytes), "cublasSetWorkspace");
  // Sums of 16-bit products must stay in f32, whatever the library would choose.
  check_cublas(cublasSetMathMode(cublas.get(),
                                 static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                                           CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)),
               "cublasSetMathMode");
  check_cudnn(cudnnSetStream(cudnn.get(), stream.get()), "cudnnSetStream");
  handles = {stream.get(), cublas.get(), cublas_lt.get(), cudnn.get(), workspace.get(), workspace_bytes};
}

void Worker::free_memory() {
  device_ = {};
  upload_ = {};
  download_ = {};
}

template <class Owner>
std::byte* Worker::grow(Memory<Owner>& memory, int64_t bytes, int64_t least,
                        cudaError_t (*allocate)(void**, size_t), const char* what) {
  if (bytes > memory.bytes) {
    memory = {};
    const auto try_size = [&](int64_t size) {
      void* made = nullptr;
      const cudaError_t status = allocate(&made, static_cast<size_t>(size));
      memory.data.reset(made);
      if (status != cudaErrorMemoryAllocation) check_cuda(status, what);
      cudaGetLastError();
      return status == cudaSuccess;
    };
    memory.bytes = grow_memory(bytes, least, try_size, free_idle_memory);
    if (memory.bytes == 0) {
      const std::string text = std::string(what) + " of " + std::to_string(bytes >> 20) + " MiB";
      check_cuda(cudaErrorMemoryAllocation, text.c_str());
    }
  }
  return static_cast<std::byte*>(memory.data.get());
}

std::byte* Worker::device_memory(int64_t bytes) {
  return grow(device_, bytes, int64_t{16} << 20, cudaMalloc, "device memory");
}
std::byte* Worker::upload_memory(int64_t bytes) {
  return grow(upload_, bytes, int64_t{4} << 20, cudaMallocHost, "pinned memory");
}
std::byte* Worker::download_memory(int64_t bytes) {
  return grow(download_, bytes, int64_t{4} << 20, cudaMallocHost, "pinned memory");
}

void Worker::record(size_t event, int stream) {
  while (events_.size() <= event) {
    events_.push_back(owned<OwnedEvent>([](cudaEvent_t* made) {
      check_cuda(cudaEventCreateWithFlags(made, cudaEventDisableTiming), "cudaEventCreate");
    }));
  }
  check_cuda(cudaEventRecord(events_[event].get(), handles(stream).stream), "cudaEventRecord");
}

void Worker::wait(size_t event, int stream) {
  check_cuda(cudaStreamWaitEvent(handles(stream).stream, events_.at(event).get()), "cudaStreamWaitEvent");
}

void Worker::synchronize(int stream) {
  check_cuda(cudaStreamSynchronize(handles(stream).stream), "running the case");
}

bool Worker::settle() {
  for (const Stream* each : {&first_, &second_}) {
    if (cudaStreamSynchronize(each->stream.get()) == cudaSuccess) continue;
    cudaGetLastError();
    return false;
  }
  if (device_.bytes > kMostIdleDeviceBytes) device_ = {};
  if (upload_.bytes > kMostIdlePinnedBytes) upload_ = {};
  if (download_.bytes > kMostIdlePinnedBytes) download_ = {};
  return true;
}

WorkerLease::WorkerLease() {
  {
    const std::lock_guard guard(pool().mutex);
    if (!pool().idle.empty()) {
      worker_ = std::move(pool().idle.back());
      pool().idle.pop_back();
    }
  }
  if (!worker_) worker_ = std::make_unique<Worker>();
}

// After an exception, work may still be queued on either stream. If the device has failed, destroying its
// handles could fail too, so such a worker is leaked.
WorkerLease::~WorkerLease() {
  if (!worker_->settle()) {
    static_cast<void>(worker_.release());
    return;
  }
  try {
    const std::lock_guard guard(pool().mutex);
    pool().idle.push_back(std::move(worker_));
  } catch (const std::exception&) {  // the list could not grow: the worker is destroyed
  }
}

}  // namespace fusesmith::backends
