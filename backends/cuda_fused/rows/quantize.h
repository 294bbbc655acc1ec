// The scale of each group of x, and its codes: x divided by the scale. One block for each group.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/storage.h"

namespace fusesmith::backends {

struct QuantizeFaults {
  bool signed_largest, no_least, first_row, sees_padding, scale_in_bf16, power_down, power_of_bf16;
  bool top_saturates, half_up, rounded_twice, flushed, unsaturated;
};

struct QuantizeParams {
  const void* x;       // [groups, size]
  const float* least;  // one element
  float* scales;       // [groups]; null if nothing reads them
  void* codes;         // [groups, size]
  Storage storage;     // of x: a float type
  int groups, size;
  float largest;
  bool has_power;
  StorageRounding power, to;
  QuantizeFaults faults;
};

cudaError_t launch_quantize(const QuantizeParams& params, cudaStream_t stream);

}  // namespace fusesmith::backends
