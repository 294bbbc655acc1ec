// One warp per short row, one block per long one. Sums are taken in an order fixed by the number of columns.
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/layer_norm.h"

namespace fusesmith {
namespace {

constexpr int kWarp = 32;
constexpr int kShortRow = 1024;
constexpr int kRowsPerBlock = 4;  // short ones
constexpr int kLongRowWarps = 32;

// The same sum in every lane: addition commutes, so both partners of an exchange get the same bits.
__device__ float sum_over_warp(float x) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(0xffffffffu, x, distance);
  return x;
}

// Over the warps that share a row: all of the block, or one.
template <int kWarps>
__device__ float sum_over_row(float x) {
  x = sum_over_warp(x);
  if constexpr (kWarps > 1) {
    static_assert(kWarps == kWarp);
    __shared__ float sums[kWarps];
    __syncthreads();  // the sums of the call before have been read
    if (threadIdx.x % kWarp == 0) sums[threadIdx.x / kWarp] = x;
    __syncthreads();
    x = sum_over_warp(sums[threadIdx.x % kWarp]);
  }
  return x;
}

template <class T, int kWarps>
__global__ void layer_norm(LayerNormRows norm) {
  constexpr int kLanes = kWarp * kWarps;
  const int row = static_cast<int>(blockIdx.x * (blockDim.x / kLanes) + threadIdx.x / kLanes);
  if (row >= norm.rows) return;  // whole warps of short rows; never part of a block with a long one
  const int lane = static_cast<int>(threadIdx.x % kLanes);
  const T* x = static_cast<const T*>(norm.x) + static_cast<int64_t>(row) * norm.columns;
  T* y = static_cast<T*>(norm.y) + static_cast<int64_t>(row) * norm.columns;
  const T* weight = static_cast<const T*>(norm.weight);
  const T* bias = static_cast<const T*>(norm.bias);
  const float n = static_cast<float>(norm.columns);

  float sum = 0;
  for (int i = lane; i < norm.columns; i += kLanes) sum += device::to_float(x[i]);
  const float mean = sum_over_row<kWarps>(sum) / n;
  float squares = 0;
  for (int i = lane; i < norm.columns; i += kLanes) {
    const float difference = device::to_float(x[i]) - mean;
    squares += difference * difference;
  }
  const float rstd = device::reciprocal_sqrt(sum_over_row<kWarps>(squares) / n + norm.eps);
  for (int i = lane; i < norm.columns; i += kLanes) {
    float value = (device::to_float(x[i]) - mean) * rstd;
    if (weight != nullptr) value *= device::to_float(weight[i]);
    if (bias != nullptr) value += device::to_float(bias[i]);
    y[i] = device::from_float<T>(value);
  }
}

template <class T>
cudaError_t launch(const LayerNormRows& norm, cudaStream_t stream) {
  if (norm.columns <= kShortRow) {
    const unsigned blocks = static_cast<unsigned>((norm.rows + kRowsPerBlock - 1) / kRowsPerBlock);
    layer_norm<T, 1><<<blocks, kWarp * kRowsPerBlock, 0, stream>>>(norm);
  } else {
    const unsigned blocks = static_cast<unsigned>(norm.rows);
    layer_norm<T, kLongRowWarps><<<blocks, kWarp * kLongRowWarps, 0, stream>>>(norm);
  }
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_layer_norm(const LayerNormRows& norm, cudaStream_t stream) {
  switch (norm.storage) {
    case Storage::f16:
      return launch<__half>(norm, stream);
    case Storage::bf16:
      return launch<__nv_bfloat16>(norm, stream);
    default:
      return launch<float>(norm, stream);
  }
}

}  // namespace fusesmith
