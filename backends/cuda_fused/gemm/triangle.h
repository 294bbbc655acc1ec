// Triangle multiplication of the two halves of one tensor's channels: a thread accumulates 4 x 4 pairs (i, j)
// of one channel over k. Neighbouring lanes have neighbouring channels, so that both halves are read with
// coalesced loads. Products are f32 on the FMA units, also under the tf32 policy.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/storage.h"

namespace fusesmith::backends {

// Strides are in elements of x. x and out have fewer than 2^31 elements.
struct TriangleParams {
  const void* x;
  void* out;                // [batch, size, size, channels]
  Storage in, out_storage;  // of one float type, or out in f32
  int batch, size, depth, channels;
  int batch_step, line_step, depth_step;  // along the batch, along i or j, along k
  int left, right;                        // the channel of x where an operand starts
  bool upcast_skipped;                    // fault: the sums are rounded to the type of x
};

// The tile of a block; tests choose sizes around it.
inline constexpr int kTriangleRows = 8, kTriangleColumns = 16, kTriangleChannels = 32;

cudaError_t launch_triangle(const TriangleParams& params, cudaStream_t stream);

}  // namespace fusesmith::backends
