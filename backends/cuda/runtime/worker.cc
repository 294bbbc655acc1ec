#include "backends/cuda/runtime/worker.h"

#include <algorithm>
#include <mutex>

#include "backends/cuda/runtime/check.h"
#include "backends/device_error.h"

namespace fusesmith::backends {
namespace {

constexpr size_t kWorkspace = size_t{32} << 20;  // what cuBLAS recommends for Hopper

// Idle workers, kept until the process ends: the driver takes their memory back, and destroying handles after
// the driver has shut down would fail.
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

void make_stream(StreamHandles& to) {
  check_cuda(cudaStreamCreateWithFlags(&to.stream, cudaStreamNonBlocking), "cudaStreamCreate");
  check_cublas(cublasCreate(&to.cublas), "cublasCreate");
  check_cublas(cublasLtCreate(&to.cublas_lt), "cublasLtCreate");
  check_cudnn(cudnnCreate(&to.cudnn), "cudnnCreate");
  check_cuda(cudaMalloc(&to.workspace, 2 * kWorkspace), "cudaMalloc of the libraries' workspace");
  to.workspace_bytes = kWorkspace;
  check_cublas(cublasSetStream(to.cublas, to.stream), "cublasSetStream");
  void* const second = static_cast<std::byte*>(to.workspace) + kWorkspace;
  check_cublas(cublasSetWorkspace(to.cublas, second, kWorkspace), "cublasSetWorkspace");
  // Sums of 16-bit products stay in f32, whatever the library would choose.
  check_cublas(cublasSetMathMode(to.cublas,
                                 static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                                           CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)),
               "cublasSetMathMode");
  check_cudnn(cudnnSetStream(to.cudnn, to.stream), "cudnnSetStream");
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
  return std::nullopt;
}

Worker::Worker() {
  for (StreamHandles& stream : streams_) make_stream(stream);
}

// Handles of a broken device cannot be destroyed; errors are of no use here.
Worker::~Worker() {
  free_memory();
  for (cudaEvent_t event : events_) cudaEventDestroy(event);
  for (const StreamHandles& stream : streams_) {
    if (stream.cudnn) cudnnDestroy(stream.cudnn);
    if (stream.cublas_lt) cublasLtDestroy(stream.cublas_lt);
    if (stream.cublas) cublasDestroy(stream.cublas);
    cudaFree(stream.workspace);
    if (stream.stream) cudaStreamDestroy(stream.stream);
  }
}

void Worker::free_memory() {
  cudaFree(device_.data);
  cudaFreeHost(upload_.data);
  cudaFreeHost(download_.data);
  device_ = upload_ = download_ = {};
}

std::byte* Worker::device_memory(int64_t bytes) {
  if (bytes > device_.bytes) {
    check_cuda(cudaFree(device_.data), "cudaFree");
    device_ = {};
    const int64_t size = std::max(bytes + bytes / 4, int64_t{16} << 20);
    if (cudaMalloc(&device_.data, static_cast<size_t>(size)) != cudaSuccess) {
      cudaGetLastError();
      free_idle_memory();
      const std::string what = "device memory of " + std::to_string(size >> 20) + " MiB";
      check_cuda(cudaMalloc(&device_.data, static_cast<size_t>(size)), what.c_str());
    }
    device_.bytes = size;
  }
  return static_cast<std::byte*>(device_.data);
}

std::byte* Worker::grow_pinned(Memory& memory, int64_t bytes) {
  if (bytes > memory.bytes) {
    check_cuda(cudaFreeHost(memory.data), "cudaFreeHost");
    memory = {};
    const int64_t size = std::max(bytes + bytes / 4, int64_t{4} << 20);
    const std::string what = "pinned memory of " + std::to_string(size >> 20) + " MiB";
    check_cuda(cudaMallocHost(&memory.data, static_cast<size_t>(size)), what.c_str());
    memory.bytes = size;
  }
  return static_cast<std::byte*>(memory.data);
}

std::byte* Worker::upload_memory(int64_t bytes) { return grow_pinned(upload_, bytes); }
std::byte* Worker::download_memory(int64_t bytes) { return grow_pinned(download_, bytes); }

void Worker::record(size_t event, int stream) {
  while (events_.size() <= event) {
    cudaEvent_t made = nullptr;
    check_cuda(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "cudaEventCreate");
    events_.push_back(made);
  }
  check_cuda(cudaEventRecord(events_[event], handles(stream).stream), "cudaEventRecord");
}

void Worker::wait(size_t event, int stream) {
  check_cuda(cudaStreamWaitEvent(handles(stream).stream, events_.at(event)), "cudaStreamWaitEvent");
}

void Worker::synchronize(int stream) {
  check_cuda(cudaStreamSynchronize(handles(stream).stream), "running the case");
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

WorkerLease::~WorkerLease() {
  const std::lock_guard guard(pool().mutex);
  pool().idle.push_back(std::move(worker_));
}

}  // namespace fusesmith::backends
