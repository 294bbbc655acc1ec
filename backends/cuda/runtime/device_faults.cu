#include <cuda_runtime_api.h>

#include <utility>
#include <vector>

#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/device_faults.h"
#include "backends/cuda/runtime/owned.h"
#include "backends/process_faults.h"

namespace fusesmith::backends {

#ifdef FUSESMITH_FAULTS

namespace {

__global__ void endless_kernel(volatile int* forever) {
  while (*forever != 0) {
  }
}

__global__ void illegal_address_kernel(int* nowhere) { *nowhere = 1; }

__global__ void trap_kernel() { asm volatile("trap;"); }

void wait_for(const char* kernel) {
  check_cuda(cudaGetLastError(), kernel);
  check_cuda(cudaDeviceSynchronize(), kernel);
}

DeviceMemory device_memory(size_t bytes, const char* what) {
  return owned<DeviceMemory>([&](void** made) { check_cuda(cudaMalloc(made, bytes), what); });
}

void run_forever() {
  const DeviceMemory memory = device_memory(sizeof(int), "cudaMalloc");
  check_cuda(cudaMemset(memory.get(), 1, sizeof(int)), "cudaMemset");
  endless_kernel<<<1, 1>>>(static_cast<int*>(memory.get()));
  wait_for("kernel endless_kernel");
}

void write_nowhere() {
  illegal_address_kernel<<<1, 1>>>(reinterpret_cast<int*>(uintptr_t{1} << 20));
  wait_for("kernel illegal_address_kernel");
}

void trap() {
  trap_kernel<<<1, 1>>>();
  wait_for("kernel trap_kernel");
}

void take_all_memory() {
  constexpr size_t kBlock = size_t{1} << 30;
  std::vector<DeviceMemory> blocks;
  for (;;) blocks.push_back(device_memory(kBlock, "cudaMalloc of 1024 MiB"));
}

using Act = void (*)();
constexpr std::pair<const char*, Act> kActs[] = {{"device_endless_kernel", run_forever},
                                                 {"device_illegal_address", write_nowhere},
                                                 {"device_trap", trap},
                                                 {"device_out_of_memory", take_all_memory}};

class FaultyProgram final : public Program {
 public:
  FaultyProgram(std::unique_ptr<Program> program, Act act) : program_(std::move(program)), act_(act) {}

  const Plan& plan() const override { return program_->plan(); }
  Trace run(std::span<const TensorPtr> inputs) override {
    act_();
    return program_->run(inputs);
  }
  std::optional<Disagreement> recheck(std::span<const TensorPtr> inputs, const Trace& trace) override {
    return program_->recheck(inputs, trace);
  }

 private:
  const std::unique_ptr<Program> program_;
  const Act act_;
};

}  // namespace

std::unique_ptr<Program> with_device_faults(std::unique_ptr<Program> program, const Graph& graph,
                                            const Faults& faults) {
  if (!has_trigger(faults, graph)) return program;
  for (const auto& [name, act] : kActs) {
    if (faults.has(name)) return std::make_unique<FaultyProgram>(std::move(program), act);
  }
  return program;
}

#else

std::unique_ptr<Program> with_device_faults(std::unique_ptr<Program> program, const Graph&, const Faults&) {
  return program;
}

#endif

}  // namespace fusesmith::backends
