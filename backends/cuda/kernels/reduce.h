// Reductions along any axes.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/index_space.h"

namespace fusesmith::backends {

enum class Reducer : int {
  sum,
  mean,
  max,
  var_mean,  // y: the variance, in two passes; means: the mean
};

// Result i of kept.count reduces reduced.count elements of x; the offset of an element is the sum of its
// offsets in both spaces.
struct Reduction {
  Reducer reducer;
  IndexSpace kept, reduced;
  int kept_strides[kMaxAxes], reduced_strides[kMaxAxes];  // of x, in elements
  Storage storage;                                        // of all tensors, a float type
  float divisor;                                          // of the variance
  const void* x;
  void* y;
  void* means;
};

cudaError_t launch_reduce(const Reduction& reduction, cudaStream_t stream);

}  // namespace fusesmith::backends
