// Normalisations over rows: LayerNorm and GroupNorm in two passes (the mean, then the mean of squared
// differences), RMSNorm in one.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/inner_floats.h"
#include "backends/cuda/kernels/storage.h"

namespace fusesmith::backends {

// All tensors have one float storage. Element i of x, in row-major order, belongs to channel (i / plane) %
// channels.
struct NormRows {
  int rows, columns;
  int plane, channels;
  Storage storage;
  bool centred;  // the row's mean is subtracted first
  float eps;
  const void* x;           // [rows, columns]
  const void* weight;      // [channels], or null
  const void* bias;        // [channels], or null
  void* y;                 // [rows, columns]
  InnerFloats mean, rstd;  // [rows]
};

cudaError_t launch_norm(const NormRows& norm, cudaStream_t stream);

}  // namespace fusesmith::backends
