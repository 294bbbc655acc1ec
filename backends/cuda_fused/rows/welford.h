// LayerNorm in one pass over each row: Welford's method in lanes, merged pairwise in a fixed order (Chan,
// Golub and LeVeque 1979), f32 inside, one rounding at the store. Rows of up to 8192 columns stay in
// registers and are read from memory once.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/inner_floats.h"
#include "backends/cuda/kernels/storage.h"

namespace fusesmith::backends {

struct WelfordFaults {
  bool eps_outside_sqrt, unbiased_variance, moments, warp_tail, previous_row, lanes_by_rows;
};

struct WelfordParams {
  const void* x;       // [rows, columns]
  const void* weight;  // [columns]; null: none
  const void* bias;
  void* out;
  Storage storage;  // of all: a float type
  int rows, columns;
  float eps;
  InnerFloats mean, rstd;  // [rows]
  WelfordFaults faults;
};

cudaError_t launch_welford(const WelfordParams& params, cudaStream_t stream);

}  // namespace fusesmith::backends
