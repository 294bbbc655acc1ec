// An einsum that is not a matrix product: each output element is a sum of products of two elements, in f32. A
// thread, a warp or a block computes it, depending on the length of the sum, which also fixes the order; the
// result is rounded once, at the store.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/storage.h"

namespace fusesmith::backends {

inline constexpr int kMaxSummedAxes = 16;  // letters of two operands

// One axis, with the stride of each operand in elements.
struct ReduceAxis {
  int size, a, b, out;
};

template <int kMax>
struct ReduceAxes {
  int rank;               // 0 for a single index
  int count;              // number of indices to visit: the product of the sizes, or fewer
  ReduceAxis axis[kMax];  // outermost first
};

struct MultiplyReduceParams {
  const void *a, *b;
  void* out;
  Storage storage;  // of all: a float type
  ReduceAxes<kMaxAxes> kept;
  ReduceAxes<kMaxSummedAxes> summed;
  bool races;  // fault: the warps of a block do not wait for each other
};

// Arithmetic::sum_height for this many terms.
int multiply_reduce_height(int terms);

cudaError_t launch_multiply_reduce(const MultiplyReduceParams& params, cudaStream_t stream);

}  // namespace fusesmith::backends
