#include "backends/cuda/runtime/cuda_plugin_memory.h"

#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/owned.h"

namespace fusesmith::backends {
namespace {

class CudaPluginMemory : public PluginMemory {
 public:
  CudaPluginMemory()
      : stream_(owned<OwnedStream>([](cudaStream_t* made) {
          check_cuda(cudaStreamCreateWithFlags(made, cudaStreamNonBlocking), "cudaStreamCreate");
        })) {}

  std::byte* allocate(size_t bytes) override {
    void* memory = nullptr;
    check_cuda(cudaMalloc(&memory, bytes), "cudaMalloc for a tensor");
    return static_cast<std::byte*>(memory);
  }
  void release(std::byte* memory) override { cudaFree(memory); }
  void write(std::byte* to, std::span<const std::byte> from) override {
    copy(to, from.data(), from.size(), cudaMemcpyHostToDevice);
  }
  void read(std::span<std::byte> to, const std::byte* from) override {
    copy(to.data(), from, to.size(), cudaMemcpyDeviceToHost);
  }
  void* stream() override { return stream_.get(); }
  void synchronize() override {
    check_cuda(cudaGetLastError(), "a kernel launch of the plug-in");
    check_cuda(cudaStreamSynchronize(stream_.get()), "the plug-in's work on its stream");
  }

 private:
  // On the plug-in's stream alone: work that it left on another one is not waited for.
  void copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    check_cuda(cudaMemcpyAsync(to, from, bytes, kind, stream_.get()), "copying a tensor");
    check_cuda(cudaStreamSynchronize(stream_.get()), "copying a tensor");
  }

  const OwnedStream stream_;
};

}  // namespace

Result<std::unique_ptr<PluginMemory>> make_cuda_plugin_memory() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    return Problem{std::string("no GPU answers: ") +
                   (status == cudaSuccess ? "no device" : cudaGetErrorString(status))};
  }
  return std::unique_ptr<PluginMemory>(std::make_unique<CudaPluginMemory>());
}

}  // namespace fusesmith::backends
