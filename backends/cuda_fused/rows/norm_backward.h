// The gradients of layer_norm and rms_norm, f32 inside, one rounding at each store: dx and the statistics of
// the rows in one pass over them; the sums over rows as partial sums of groups of rows, which a further
// kernel merges if there are several.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/storage.h"

namespace fusesmith::backends {

struct NormBackwardFaults {
  bool no_mean, no_scale, mean_in_rms, no_weight, weighted_weight, not_normalised, weighted_bias, first_axis,
      last_rows, overwritten, in_bf16, eps_outside_sqrt, padded_width, tailless, previous_row, no_addend,
      first_addend, part_of_no_rows;
};

struct NormBackwardParams {
  const void *dy, *x, *addend;  // [rows, columns]; addend null: none
  const void* weight;           // [columns]
  void *dx, *dweight, *dbias;   // dbias null: none
  float *mean, *rstd;           // [rows]; of rms_norm the mean is 0
  float* parts;                 // [2, groups, columns], and [columns] behind them
  Storage storage;              // of all operands and results: a float type
  int rows, columns, groups;
  int first_axis;  // the size of the first axis of x
  float eps;
  bool centred;  // of layer_norm
  NormBackwardFaults faults;
};

// In how many groups the rows are summed: the lanes of the sums (Arithmetic::row_sums) follow from it.
int row_groups(int rows);

cudaError_t launch_norm_backward(const NormBackwardParams& params, cudaStream_t stream);

}  // namespace fusesmith::backends
