// The memory in which the tensors of a plug-in lie, and the stream on which it works: on the host, or on a
// GPU in builds with CUDA. Independent of CUDA, so that the worker of plug-ins exists in every build.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "graph/result.h"

namespace fusesmith::backends {

// Throws std::bad_alloc or DeviceError.
class PluginMemory {
 public:
  PluginMemory() = default;
  PluginMemory(const PluginMemory&) = delete;
  PluginMemory& operator=(const PluginMemory&) = delete;
  virtual ~PluginMemory() = default;

  static constexpr size_t kAlignment = 256;  // bytes, of what allocate() returns

  virtual std::byte* allocate(size_t bytes) = 0;
  virtual void release(std::byte* memory) = 0;
  // Between the host and memory that allocate() returned; complete when they return.
  virtual void write(std::byte* to, std::span<const std::byte> from) = 0;
  virtual void read(std::span<std::byte> to, const std::byte* from) = 0;
  // The cudaStream_t that a plug-in gets; null on the host.
  virtual void* stream() = 0;
  // Waits for the work on the stream.
  virtual void synchronize() = 0;
};

// The problem says why there is no such memory here.
using MakePluginMemory = std::function<Result<std::unique_ptr<PluginMemory>>()>;

std::unique_ptr<PluginMemory> make_host_memory();

}  // namespace fusesmith::backends
