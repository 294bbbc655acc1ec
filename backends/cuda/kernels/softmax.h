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

// Writes the result of rows in which no x is above -FLT_MAX, and leaves other rows alone. Of a row of -inf
// alone, which gives NaN, cuDNN 9.14 makes zeros; where the largest x is -FLT_MAX, it counts padding of the
// row in some shapes, such as 128 elements in place of 100.
cudaError_t launch_lowest_rows(const SoftmaxRows& rows, cudaStream_t stream);

}  // namespace fusesmith::backends
