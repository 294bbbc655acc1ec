// Triangle multiplication of the two halves of one tensor's channels: a thread holds 4 x 4 pairs (i, j) of
// one channel and goes along k once; neighbouring lanes have neighbouring channels, so that both halves are
// read in whole lines of memory from where they lie. f32 on the FMA units, whatever the tf32 policy.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/storage.h"

namespace fusesmith::backends {

// Steps in elements of x. All elements of x and out are less than 2^31.
struct TriangleParams {
  const void* x;
  void* out;                // [batch, size, size, channels]
  Storage in, out_storage;  // of one float type, or out in f32
  int batch, size, depth, channels;
  int batch_step, line_step, depth_step;  // along the batch, along i or j, along k
  int left, right;                        // the channel of x where an operand starts
  bool upcast_skipped;                    // planted: the sums are rounded to the type of x
};

// How many pairs (i, j) a block covers in each direction: tests choose sizes around them.
inline constexpr int kTriangleRows = 8, kTriangleColumns = 16, kTriangleChannels = 32;

cudaError_t launch_triangle(const TriangleParams& params, cudaStream_t stream);

}  // namespace fusesmith::backends
