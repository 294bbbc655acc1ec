// The tensors of one graph as a plug-in gets them. A plug-in is not trusted: inputs are fresh copies that are
// compared after the run, outputs are filled with arbitrary bytes before it, and every tensor lies between
// guard zones, whose bytes are other ones in each run.
#pragma once

#include <fusesmith/plugin.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/plugin_memory.h"
#include "graph/tensor.h"

namespace fusesmith::backends {

struct NamedType {
  std::string name;
  TensorType type;
};

// One of "problems" in docs/workers.md.
struct NoticedProblem {
  std::string kind, value;
  int64_t element = 0;
  std::optional<uint64_t> bits = {};  // that the element has now
};

class PluginTensors {
 public:
  // `memory` must outlive this object.
  PluginTensors(PluginMemory& memory, std::vector<NamedType> inputs, std::vector<NamedType> outputs);
  PluginTensors(const PluginTensors&) = delete;
  PluginTensors& operator=(const PluginTensors&) = delete;
  ~PluginTensors();

  const std::vector<NamedType>& inputs() const { return inputs_; }
  const std::vector<NamedType>& outputs() const { return outputs_; }
  size_t input_bytes() const;

  // The next load() uses other addresses. Those of the last one stay allocated, or they would be used again.
  void renew();

  // Writes the inputs, one after the other in `data`; guard zones and outputs hold `fill` everywhere.
  void load(std::span<const std::byte> data, std::byte fill);

  std::span<const DLTensor> input_tensors() const { return std::span(tensors_).first(inputs_.size()); }
  std::span<const DLTensor> output_tensors() const { return std::span(tensors_).subspan(inputs_.size()); }

  // After the run: the outputs, one after the other. Adds what the plug-in overwrote to `problems`.
  std::vector<std::byte> unload(std::vector<NoticedProblem>& problems);

 private:
  // A tensor with its guard zones, on the device and as it was loaded.
  struct Buffer {
    std::byte* memory = nullptr;
    std::vector<std::byte> loaded;
  };

  const NamedType& named(size_t i) const {
    return i < inputs_.size() ? inputs_[i] : outputs_[i - inputs_.size()];
  }
  void allocate();
  static void release(PluginMemory& memory, std::vector<Buffer>& buffers);
  void check(size_t i, std::span<const std::byte> now, std::vector<NoticedProblem>& problems) const;

  PluginMemory& memory_;
  const std::vector<NamedType> inputs_, outputs_;
  std::vector<std::vector<int64_t>> strides_;
  std::vector<DLTensor> tensors_;          // inputs, then outputs
  std::vector<Buffer> buffers_, retired_;  // likewise
};

}  // namespace fusesmith::backends
