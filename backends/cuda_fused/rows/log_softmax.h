// Rows minus their logsumexp, f32 inside, one rounding at the store. Rows of up to 8192 columns stay in
// registers and are read from memory once.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/storage.h"

namespace fusesmith::backends {

struct LogSoftmaxFaults {
  bool without_shift, padding_in_sum;
};

struct LogSoftmaxParams {
  const void* x;  // [rows, columns]
  void* out;
  Storage storage;  // of both: a float type
  int rows, columns;
  LogSoftmaxFaults faults;
};

cudaError_t launch_log_softmax(const LogSoftmaxParams& params, cudaStream_t stream);

}  // namespace fusesmith::backends
