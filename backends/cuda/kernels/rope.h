// Rotary position embedding.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/index_space.h"

namespace fusesmith::backends {

// Over the pairs of all rows: pair i of a row of `width` elements stands at i and i + width / 2, or at 2i and
// 2i + 1.
struct Rotation {
  IndexSpace pairs;
  int cos_strides[kMaxAxes], sin_strides[kMaxAxes];  // in elements over the pairs, 0 along broadcast axes
  int width;
  bool interleaved;
  Storage storage;  // of all tensors, a float type
  const void *x, *cos, *sin;
  void* y;
};

cudaError_t launch_rope(const Rotation& rotation, cudaStream_t stream);

}  // namespace fusesmith::backends
