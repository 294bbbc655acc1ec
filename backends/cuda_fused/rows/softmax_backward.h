// The gradient of softmax or log_softmax along rows, f32 inside, one rounding at the store. Rows of up to
// 8192 columns are read from memory once.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/storage.h"

namespace fusesmith::backends {

struct SoftmaxGradientFaults {
  bool sum_of_gradients, logarithms, first_row, tailless, sum_in_bf16, without_sum, scaled_in_part;
};

struct SoftmaxGradientParams {
  const void *dy, *y;  // [rows, columns]
  void* out;
  Storage storage;  // of all: a float type
  int rows, columns;
  bool of_log;          // y is the result of log_softmax
  bool scales, divide;  // the result is multiplied or divided by `factor`
  float factor;
  SoftmaxGradientFaults faults;
};

cudaError_t launch_softmax_gradient(const SoftmaxGradientParams& params, cudaStream_t stream);

}  // namespace fusesmith::backends
