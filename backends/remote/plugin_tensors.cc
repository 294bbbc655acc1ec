#include "backends/remote/plugin_tensors.h"

#include <algorithm>
#include <cstring>

#include "backends/remote/dl_type.h"

namespace fusesmith::backends {
namespace {

constexpr size_t kGuardBytes = 4096;  // before and after every tensor

static_assert(kGuardBytes % PluginMemory::kAlignment == 0);

size_t bytes_of(const TensorType& type) {
  return static_cast<size_t>(element_count(type)) * static_cast<size_t>(size_of(type.dtype));
}

size_t first_difference(std::span<const std::byte> a, std::span<const std::byte> b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
}

}  // namespace

PluginTensors::PluginTensors(PluginMemory& memory, std::vector<NamedType> inputs,
                             std::vector<NamedType> outputs)
    : memory_(memory), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {
  const DLDevice device{memory.stream() ? kDLCUDA : kDLCPU, 0};
  strides_.reserve(inputs_.size() + outputs_.size());
  for (size_t i = 0; i < inputs_.size() + outputs_.size(); ++i) {
    const TensorType& type = named(i).type;
    strides_.push_back(strides_of(type.shape));
    // DLPack's pointers are not const; the plug-in must not write through them.
    tensors_.push_back({nullptr, device, type.rank(), dl_type(type.dtype),
                        const_cast<int64_t*>(type.shape.data()), strides_.back().data(), 0});
  }
}

PluginTensors::~PluginTensors() {
  release(memory_, buffers_);
  release(memory_, retired_);
}

void PluginTensors::release(PluginMemory& memory, std::vector<Buffer>& buffers) {
  for (const Buffer& buffer : buffers) {
    if (buffer.memory) memory.release(buffer.memory);
  }
  buffers.clear();
}

size_t PluginTensors::input_bytes() const {
  size_t bytes = 0;
  for (const NamedType& input : inputs_) bytes += bytes_of(input.type);
  return bytes;
}

void PluginTensors::renew() {
  release(memory_, retired_);
  std::swap(buffers_, retired_);
}

void PluginTensors::allocate() {
  buffers_.resize(tensors_.size());
  for (size_t i = 0; i < buffers_.size(); ++i) {
    buffers_[i].loaded.resize(bytes_of(named(i).type) + 2 * kGuardBytes);
    buffers_[i].memory = memory_.allocate(buffers_[i].loaded.size());
  }
}

void PluginTensors::load(std::span<const std::byte> data, std::byte fill) {
  if (buffers_.empty()) allocate();
  for (size_t i = 0; i < buffers_.size(); ++i) {
    Buffer& buffer = buffers_[i];
    std::fill(buffer.loaded.begin(), buffer.loaded.end(), fill);
    if (i < inputs_.size()) {
      const size_t bytes = bytes_of(inputs_[i].type);
      std::copy_n(data.begin(), bytes, buffer.loaded.begin() + kGuardBytes);
      data = data.subspan(bytes);
    }
    memory_.write(buffer.memory, buffer.loaded);
    tensors_[i].data = buffer.memory + kGuardBytes;
  }
}

std::vector<std::byte> PluginTensors::unload(std::vector<NoticedProblem>& problems) {
  std::vector<std::byte> results;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    std::vector<std::byte> now(buffers_[i].loaded.size());
    memory_.read(now, buffers_[i].memory);
    check(i, now, problems);
    if (i >= inputs_.size())
      results.insert(results.end(), now.begin() + kGuardBytes, now.end() - kGuardBytes);
  }
  return results;
}

void PluginTensors::check(size_t i, std::span<const std::byte> now,
                          std::vector<NoticedProblem>& problems) const {
  const TensorType& type = named(i).type;
  const std::span<const std::byte> loaded = buffers_[i].loaded;
  const size_t end = now.size() - kGuardBytes;
  if (first_difference(now.first(kGuardBytes), loaded.first(kGuardBytes)) < kGuardBytes)
    problems.push_back({"guard_overwritten", named(i).name, 0});
  if (first_difference(now.subspan(end), loaded.subspan(end)) < kGuardBytes)
    problems.push_back({"guard_overwritten", named(i).name, element_count(type) - 1});
  if (i >= inputs_.size()) return;
  const size_t bytes = end - kGuardBytes;
  const size_t at = first_difference(now.subspan(kGuardBytes, bytes), loaded.subspan(kGuardBytes, bytes));
  if (at == bytes) return;
  const size_t width = static_cast<size_t>(size_of(type.dtype)), element = at / width;
  uint64_t bits = 0;
  std::memcpy(&bits, now.data() + kGuardBytes + element * width, width);
  problems.push_back({"source_overwritten", named(i).name, static_cast<int64_t>(element), bits});
}

}  // namespace fusesmith::backends
