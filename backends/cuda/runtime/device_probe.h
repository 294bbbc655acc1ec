// A probe on the device: memory for the inner values of the kernels of one region, while it runs alone.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <string>
#include <vector>

#include "backends/cuda/kernels/inner_floats.h"
#include "backends/cuda/runtime/owned.h"
#include "backends/inner_values.h"

namespace fusesmith::backends {

class DeviceProbe {
 public:
  // What the probe gives is copied on `stream`, on which the kernels run. Both must outlive this.
  DeviceProbe(Probe& probe, cudaStream_t stream) : probe_(probe), stream_(stream) {}
  DeviceProbe(const DeviceProbe&) = delete;
  DeviceProbe& operator=(const DeviceProbe&) = delete;

  InnerFloats inner(std::string_view name, int count);
  // Copies what was seen into the probe, once the stream has come so far.
  void collect();

 private:
  float* allocate(int count);

  Probe& probe_;
  cudaStream_t stream_;
  std::vector<DeviceMemory> memory_;
  std::map<std::string, std::pair<const float*, int>, std::less<>> seen_;
};

}  // namespace fusesmith::backends
