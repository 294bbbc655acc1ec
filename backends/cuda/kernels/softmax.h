// Softmax along the middle axis of [outer, n, inner], where cuDNN is not used.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/storage.h"

namespace fusesmith::backends {

// At most 2^27 elements.
struct SoftmaxRows {
  int outer, n, inner;
  Storage storage;  // a float type, of x and y
  const void* x;
  void* y;  // not x
};

cudaError_t launch_softmax(const SoftmaxRows& rows, cudaStream_t stream);

// Writes NaN to rows in which every x is -inf, and leaves other rows alone: cuDNN 9.14 writes 0 there.
cudaError_t launch_hidden_rows(const SoftmaxRows& rows, cudaStream_t stream);

}  // namespace fusesmith::backends
