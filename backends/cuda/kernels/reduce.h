// Reductions along any axes.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/index_space.h"

namespace fusesmith::backends {

// What one pass over the elements x of a result computes; a second pass may read the first one's result r.
enum class ReducePass : int {
  none,
  sum,
  max,
  squared_distances,  // the sum of (x - r)^2
  exponentials,       // the sum of exp(x - r)
};

enum class ReduceFinish : int {
  nothing,
  log_plus_first,  // log(result) + r, and r where it is infinite or NaN
};

// Result i of kept.count reduces reduced.count elements of x; the offset of an element is the sum of its
// offsets in both spaces. Each pass's result is divided by its divisor.
struct Reduction {
  ReducePass passes[2];
  float divisors[2];
  ReduceFinish finish;
  IndexSpace kept, reduced;
  int kept_strides[kMaxAxes], reduced_strides[kMaxAxes];  // of x, in elements
  Storage storage;                                        // of all tensors, a float type
  const void* x;
  void* y;
  void* first;  // where the first pass's result is stored too; null: nowhere
};

cudaError_t launch_reduce(const Reduction& reduction, cudaStream_t stream);

}  // namespace fusesmith::backends
