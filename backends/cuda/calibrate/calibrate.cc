#include "backends/cuda/calibrate/calibrate.h"

#include <cstring>
#include <memory>

#include "backends/cuda/calibrate/scalar_errors.h"
#include "backends/cuda/emit/arithmetic.h"
#include "backends/cuda/runtime/check.h"

namespace fusesmith::backends {
namespace {

struct Declared {
  const char* name;
  ScalarFunction function;
  double worst_u;
};

struct Free {
  void operator()(WorstError* memory) const { cudaFree(memory); }
};

ScalarError measure(const Declared& declared, WorstError* on_device) {
  check_cuda(launch_scalar_errors(declared.function, on_device, nullptr), "kernel scalar_errors");
  std::vector<WorstError> blocks(kScalarErrorBlocks);
  check_cuda(cudaMemcpy(blocks.data(), on_device, blocks.size() * sizeof(WorstError), cudaMemcpyDeviceToHost),
             "cudaMemcpy of scalar errors");
  WorstError worst = blocks[0];
  double tiny = 0;
  for (const WorstError& block : blocks) {
    tiny = block.tiny > tiny ? block.tiny : tiny;
    const bool first = block.relative == worst.relative && block.at < worst.at;
    if (block.relative > worst.relative || first) worst = block;
  }
  ScalarError error{declared.name, worst.relative, 0, declared.worst_u, tiny};
  std::memcpy(&error.at, &worst.at, sizeof error.at);
  return error;
}

}  // namespace

Calibration calibrate() {
  const Arithmetic arithmetic = cuda_arithmetic();
  const Declared all[] = {
      {"exp", ScalarFunction::exp, arithmetic.exp},
      {"erf", ScalarFunction::erf, arithmetic.erf},
      {"tanh", ScalarFunction::tanh, arithmetic.tanh},
      {"rsqrt", ScalarFunction::rsqrt, arithmetic.rsqrt},
      {"div", ScalarFunction::reciprocal, arithmetic.div},
      {"sqrt", ScalarFunction::sqrt, 1},  // rounded once, as every op without a figure of its own
      {"log", ScalarFunction::log, arithmetic.log},
  };
  cudaDeviceProp properties = {};
  check_cuda(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  void* memory = nullptr;
  check_cuda(cudaMalloc(&memory, kScalarErrorBlocks * sizeof(WorstError)), "cudaMalloc of scalar errors");
  const std::unique_ptr<WorstError, Free> on_device(static_cast<WorstError*>(memory));
  Calibration calibration{properties.name, {}};
  for (const Declared& declared : all) calibration.functions.push_back(measure(declared, on_device.get()));
  return calibration;
}

}  // namespace fusesmith::backends
