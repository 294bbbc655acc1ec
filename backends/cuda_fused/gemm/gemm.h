// The fused product: out = activation(a b + bias + addend) over any groups of axes. Tiles of 64 x 64 are kept
// in shared memory and sums in f32 registers; each sum runs over k from first to last and is rounded once, at
// the store. f32 uses the FMA units (IEEE, also under the tf32 policy), f16 and bf16 the tensor cores.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/storage.h"
#include "backends/cuda_fused/device/activation.h"

namespace fusesmith::backends {

// One axis, with the stride of each operand in elements.
struct GemmAxis {
  int size, a, b, out, addend;
};

// Outermost first; rank 0 has extent 1.
struct GemmAxes {
  int rank;
  int extent;  // number of indices to visit: the product of the sizes, or fewer
  GemmAxis axis[kMaxAxes];
};

// How a tile of an operand is read. A line is a row of a or a column of b.
struct GemmReading {
  bool along_depth;  // elements are contiguous along k; otherwise across lines
  bool vectors;      // 16 aligned bytes at a time, never across the end of an axis
};

struct GemmFaults {
  bool missing_barrier, tf32_for_ieee, tail_unmasked, tail_uninitialised, relu_drops_nan, bf16_partials,
      overhang_stored;
  int out_count;  // elements of out
};

struct GemmParams {
  GemmAxes batch, m, n, k;
  const void *a, *b;
  const void* bias;    // indexed over n; null: none
  const void* addend;  // null: none
  void* out;
  Storage storage;  // of every operand: a float type
  KernelActivation activation;
  GemmReading read_a, read_b;
  GemmFaults faults;
};

cudaError_t launch_gemm(const GemmParams& params, cudaStream_t stream);

// Called by launch_gemm: for f32, and for f16 and bf16.
cudaError_t launch_gemm_fma(const GemmParams& params, cudaStream_t stream);
cudaError_t launch_gemm_tensor_core(const GemmParams& params, cudaStream_t stream);

}  // namespace fusesmith::backends
