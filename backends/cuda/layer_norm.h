// LayerNorm over rows in two passes: the mean, then the mean of squared differences.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/storage.h"

namespace fusesmith {

// All tensors have one float storage.
struct LayerNormRows {
  int rows, columns;
  Storage storage;
  float eps;
  const void* x;       // [rows, columns]
  const void* weight;  // [columns], or null
  const void* bias;    // [columns], or null
  void* y;             // [rows, columns]
};

cudaError_t launch_layer_norm(const LayerNormRows& norm, cudaStream_t stream);

}  // namespace fusesmith
