// Device memory for the inner values that the kernels of one region write or read, while the region runs
// alone (backends/inner_values.h).
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
  // Values that the probe supplies are copied on `stream`, on which the kernels run. The probe and the stream
  // must outlive this object.
  DeviceProbe(Probe& probe, cudaStream_t stream) : probe_(probe), stream_(stream) {}
  DeviceProbe(const DeviceProbe&) = delete;
  DeviceProbe& operator=(const DeviceProbe&) = delete;

  InnerFloats inner(std::string_view name, int count);
  // Waits for the stream and copies the recorded values into the probe.
  void collect();

 private:
  float* allocate(int count);

  Probe& probe_;
  cudaStream_t stream_;
  std::vector<DeviceMemory> memory_;
  std::map<std::string, std::pair<const float*, int>, std::less<>> seen_;
};

}  // namespace fusesmith::backends
