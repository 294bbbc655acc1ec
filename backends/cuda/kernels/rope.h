// Rotary position embedding.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/index_space.h"

namespace fusesmith::backends {

// Over the steps of all rows of `width` elements: `half` pairs, of which pair i stands at i and i + half, or
// at 2i and 2i + 1, then the elements from 2 half on, which are not rotated.
struct Rotation {
  IndexSpace steps;
  int cos_strides[kMaxAxes], sin_strides[kMaxAxes];  // in elements over the steps, 0 along broadcast axes
  int width, half;
  bool interleaved;
  Storage storage;  // of all tensors, a float type
  const void *x, *cos, *sin;
  void* y;
};

cudaError_t launch_rope(const Rotation& rotation, cudaStream_t stream);

}  // namespace fusesmith::backends
