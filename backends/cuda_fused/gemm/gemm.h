// The fused product: out = activation(a b + bias + addend) over any groups of axes. Tiles of 64 x 64 stand in
// shared memory, sums in f32 registers, each over k from first to last; one rounding at the store. f32 runs
// on the FMA units (IEEE, whatever the tf32 policy), f16 and bf16 on the tensor cores.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/storage.h"
#include "backends/cuda_fused/device/activation.h"

namespace fusesmith::backends {

// One axis, with the step of each operand along it, in elements.
struct GemmAxis {
  int size, a, b, out, addend;
};

// Outermost first; rank 0 has extent 1.
struct GemmAxes {
  int rank;
  int extent;  // how many indices to visit: the product of sizes, or the first so many
  GemmAxis axis[kMaxAxes];
};

// How a tile of an operand is read. A line is a row of a or a column of b.
struct GemmReading {
  bool along_depth;  // neighbours in memory are neighbours along k, else along lines
  bool vectors;      // 16 bytes at a time: aligned, and never across an end
};

struct GemmFaults {
  bool missing_barrier, tf32_for_ieee, tail_unmasked, tail_uninitialised, relu_drops_nan, bf16_partials;
  int out_count;  // elements of out
};

struct GemmParams {
  GemmAxes batch, m, n, k;
  const void *a, *b;
  const void* bias;    // by index over n; null: none
  const void* addend;  // null: none
  void* out;
  Storage storage;  // of every operand: a float type
  KernelActivation activation;
  GemmReading read_a, read_b;
  GemmFaults faults;
};

cudaError_t launch_gemm(const GemmParams& params, cudaStream_t stream);

// By launch_gemm: f32; f16 and bf16.
cudaError_t launch_gemm_fma(const GemmParams& params, cudaStream_t stream);
cudaError_t launch_gemm_tensor_core(const GemmParams& params, cudaStream_t stream);

}  // namespace fusesmith::backends
