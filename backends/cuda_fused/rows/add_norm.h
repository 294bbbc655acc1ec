// The norm of the rows of x + addend in one pass. The sum stays in f32, in registers for rows of up to 8192
// columns; if asked for, it is also stored, rounded. LayerNorm by Welford's method, or RMSNorm.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/inner_floats.h"
#include "backends/cuda/kernels/storage.h"

namespace fusesmith::backends {

struct AddNormFaults {
  bool added_after, statistics_of_x, subtracts_mean, eps_outside_sqrt, kept_without_addend, previous_row;
};

struct AddNormParams {
  const void *x, *addend;  // [rows, columns]
  const void* weight;      // [columns]; null: none
  const void* bias;
  void* sum;  // null: not stored
  void* out;
  Storage storage;  // of all: a float type
  int rows, columns;
  float eps;
  bool centred;            // LayerNorm, else RMSNorm
  InnerFloats mean, rstd;  // [rows]; RMSNorm has no mean
  AddNormFaults faults;
};

cudaError_t launch_add_norm(const AddNormParams& params, cudaStream_t stream);

}  // namespace fusesmith::backends
