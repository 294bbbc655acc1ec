#include "backends/plugin_memory.h"

#include <algorithm>
#include <new>

namespace fusesmith::backends {
namespace {

class HostMemory : public PluginMemory {
 public:
  std::byte* allocate(size_t bytes) override {
    return static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kAlignment}));
  }
  void release(std::byte* memory) override { ::operator delete (memory, std::align_val_t{kAlignment}); }
  void write(std::byte* to, std::span<const std::byte> from) override {
    std::copy(from.begin(), from.end(), to);
  }
  void read(std::span<std::byte> to, const std::byte* from) override {
    std::copy_n(from, to.size(), to.begin());
  }
  void* stream() override { return nullptr; }
  void synchronize() override {}
};

}  // namespace

std::unique_ptr<PluginMemory> make_host_memory() { return std::make_unique<HostMemory>(); }

}  // namespace fusesmith::backends
