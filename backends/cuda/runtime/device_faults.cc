#include "backends/cuda/runtime/device_faults.h"

#include <cuda_runtime_api.h>

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/cuda/kernels/faulty_kernels.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/owned.h"
#include "backends/process_faults.h"

namespace fusesmith::backends {

#ifdef FUSESMITH_FAULTS

namespace {

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
  launch_endless_kernel(static_cast<int*>(memory.get()), nullptr);
  wait_for("kernel endless_kernel");
}

void write_nowhere() {
  launch_illegal_address_kernel(nullptr);
  wait_for("kernel illegal_address_kernel");
}

void trap() {
  launch_trap_kernel(nullptr);
  wait_for("kernel trap_kernel");
}

void trap_on_sick_gpu() {
  if (on_sick_gpu()) trap();
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
                                                 {"device_trap_on_sick_gpu", trap_on_sick_gpu},
                                                 {"device_out_of_memory", take_all_memory}};

class FaultyProgram final : public Program {
 public:
  FaultyProgram(std::unique_ptr<Program> program, std::function<void()> act)
      : program_(std::move(program)), act_(std::move(act)) {}

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
  const std::function<void()> act_;
};

}  // namespace

std::unique_ptr<Program> with_device_faults(std::unique_ptr<Program> program, const Graph& graph,
                                            const Faults& faults) {
  const std::string_view shown = shown_process_fault(faults, graph);
  if (shown.empty()) return program;
  for (const auto& [name, act] : kActs) {
    if (shown == name) return std::make_unique<FaultyProgram>(std::move(program), act);
  }
  return std::make_unique<FaultyProgram>(std::move(program),
                                         [faults, graph] { run_process_fault(faults, graph); });
}

#else

std::unique_ptr<Program> with_device_faults(std::unique_ptr<Program> program, const Graph&, const Faults&) {
  return program;
}

#endif

}  // namespace fusesmith::backends
