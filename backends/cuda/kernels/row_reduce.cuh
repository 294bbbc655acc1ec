// Reductions by a warp, or by a block of 32 warps, in an order that depends only on the number of elements.
// Only .cu files include this.
#pragma once

#include <type_traits>

namespace fusesmith::backends::device {

inline constexpr int kWarp = 32;
inline constexpr int kShortRow = 1024;    // one warp reduces a row of up to this many elements
inline constexpr int kRowsPerBlock = 4;   // of short rows
inline constexpr int kLongRowWarps = 32;  // warps of the block that reduces one long row

struct Add {
  __device__ float operator()(float a, float b) const { return a + b; }
};

// The same result in every lane: `combine` commutes, so both partners of an exchange get the same bits.
template <class F>
__device__ float over_warp(float x, F combine) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    x = combine(x, __shfl_xor_sync(0xffffffffu, x, distance));
  return x;
}

// Reduces over the warps that share a row: all warps of the block, or one.
template <int kWarps, class F>
__device__ float over_row(float x, F combine) {
  x = over_warp(x, combine);
  if constexpr (kWarps > 1) {
    static_assert(kWarps == kWarp);
    __shared__ float parts[kWarps];
    __syncthreads();  // the parts of the previous call have been read
    if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = x;
    __syncthreads();
    x = over_warp(parts[threadIdx.x % kWarp], combine);
  }
  return x;
}

// Which row the thread works on, and which of its lanes it is.
template <int kWarps>
struct RowThread {
  static constexpr int kLanes = kWarp * kWarps;
  int row = static_cast<int>(blockIdx.x * (blockDim.x / kLanes) + threadIdx.x / kLanes);
  int lane = static_cast<int>(threadIdx.x % kLanes);
};

// Calls launch(blocks, threads, std::integral_constant of the warps that share a row).
template <class F>
void for_rows(int rows, int columns, F launch) {
  if (columns <= kShortRow) {
    const unsigned blocks = static_cast<unsigned>((rows + kRowsPerBlock - 1) / kRowsPerBlock);
    launch(blocks, unsigned{kWarp * kRowsPerBlock}, std::integral_constant<int, 1>{});
  } else {
    launch(static_cast<unsigned>(rows), unsigned{kWarp * kLongRowWarps},
           std::integral_constant<int, kLongRowWarps>{});
  }
}

}  // namespace fusesmith::backends::device
