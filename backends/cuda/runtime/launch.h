// A compiled graph as data: buffers, and for each region the launches that write them. Addresses, streams and
// library handles are bound only at the launch, so that one program runs in any memory layout.
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "backends/cuda/kernels/inner_floats.h"
#include "backends/faults.h"
#include "graph/graph.h"

namespace fusesmith::backends {

// A piece of device memory that a program uses.
struct Buffer {
  int id = -1;
};

// A tensor on the device: contiguous, row-major.
struct DeviceTensor {
  Buffer buffer;
  TensorType type;
};
using DeviceTensors = std::span<const DeviceTensor>;

// One stream of a worker and the library handles bound to it. No other stream uses these handles or this
// workspace: cuBLAS gives reproducible bits only then.
struct StreamHandles {
  cudaStream_t stream = nullptr;
  cublasHandle_t cublas = nullptr;
  cublasLtHandle_t cublas_lt = nullptr;
  cudnnHandle_t cudnn = nullptr;
  void* workspace = nullptr;  // for cuBLASLt
  size_t workspace_bytes = 0;
};

class DeviceProbe;

// The memory and the stream of one launch.
class LaunchContext {
 public:
  LaunchContext(const StreamHandles& handles, std::byte* base, std::span<const int64_t> offsets,
                DeviceProbe* probe = nullptr)
      : handles_(handles), base_(base), offsets_(offsets), probe_(probe) {}

  const StreamHandles& handles() const { return handles_; }
  cudaStream_t stream() const { return handles_.stream; }
  void* at(Buffer buffer) const { return base_ + offsets_[static_cast<size_t>(buffer.id)]; }
  void* at(const DeviceTensor& tensor) const { return at(tensor.buffer); }
  // Where the kernel stores one of its inner values, of `count` elements; empty in ordinary runs.
  InnerFloats inner(std::string_view name, int count) const;

 private:
  const StreamHandles& handles_;
  std::byte* base_;
  std::span<const int64_t> offsets_;  // by buffer id
  DeviceProbe* probe_;
};

using Launch = std::function<void(const LaunchContext&)>;

// Collects the launches of one region.
class Emitter {
 public:
  // Scratch memory of this region: `bytes` (at least 1), uninitialised.
  virtual Buffer temporary(int64_t bytes) = 0;
  virtual void launch(Launch launch) = 0;

  DeviceTensor temporary(TensorType type) {
    const int64_t bytes = element_count(type) * size_of(type.dtype);
    return {temporary(bytes), std::move(type)};
  }
  bool tf32() const { return tf32_; }  // products of f32 may round their inputs to tf32

 protected:
  explicit Emitter(bool tf32) : tf32_(tf32) {}
  ~Emitter() = default;

 private:
  bool tf32_;
};

}  // namespace fusesmith::backends
