// Three passes over a row: maximum, sum of exponentials, quotients. A row belongs to a warp, to a block where
// it is long, or to a thread where neighbouring rows lie side by side. Sums are taken in an order fixed by n.
#include <math_constants.h>

#include "backends/cuda/device_math.cuh"
#include "backends/cuda/softmax.h"

namespace fusesmith {
namespace {

constexpr int kWarp = 32;
constexpr int kShortRow = 1024;
constexpr int kRowsPerBlock = 4;  // short ones
constexpr int kLongRowWarps = 32;
constexpr int kColumnThreads = 128;

struct Larger {
  __device__ float operator()(float a, float b) const { return b > a ? b : a; }  // passes over NaN in b
};
struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};

// The same result in every lane: both operations commute, so partners of an exchange get the same bits.
template <class F>
__device__ float over_warp(float x, F f) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    x = f(x, __shfl_xor_sync(0xffffffffu, x, distance));
  return x;
}

// Over the warps that share a row: all of the block, or one.
template <int kWarps, class F>
__device__ float over_row(float x, F f) {
  x = over_warp(x, f);
  if constexpr (kWarps > 1) {
    static_assert(kWarps == kWarp);
    __shared__ float parts[kWarps];
    __syncthreads();  // the parts of the call before have been read
    if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = x;
    __syncthreads();
    x = over_warp(parts[threadIdx.x % kWarp], f);
  }
  return x;
}

__device__ int first_element(const SoftmaxRows& rows, int row) {
  return row / rows.inner * rows.n * rows.inner + row % rows.inner;
}

// The maximum passes over NaN, but exp(x - max) does not: a NaN or +inf, or -inf alone, makes the sum NaN and
// so the whole row.
template <int kWarps>
__global__ void softmax_rows(SoftmaxRows rows) {
  constexpr int kLanes = kWarp * kWarps;
  const int row = static_cast<int>(blockIdx.x * (blockDim.x / kLanes) + threadIdx.x / kLanes);
  if (row >= rows.outer * rows.inner) return;  // whole warps of short rows; never part of a long one's block
  const int lane = static_cast<int>(threadIdx.x % kLanes);
  const int first = first_element(rows, row);
  const auto x = [&](int i) { return device::load_float(rows.x, rows.storage, first + i * rows.inner); };
  float max = -CUDART_INF_F;
  for (int i = lane; i < rows.n; i += kLanes) max = Larger{}(max, x(i));
  max = over_row<kWarps>(max, Larger{});
  float sum = 0;
  for (int i = lane; i < rows.n; i += kLanes) sum += expf(x(i) - max);
  sum = over_row<kWarps>(sum, Sum{});
  for (int i = lane; i < rows.n; i += kLanes)
    device::store_float(rows.y, rows.storage, first + i * rows.inner, expf(x(i) - max) / sum);
}

__global__ void softmax_columns(SoftmaxRows rows) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= rows.outer * rows.inner) return;
  const int first = first_element(rows, row);
  const auto x = [&](int i) { return device::load_float(rows.x, rows.storage, first + i * rows.inner); };
  float max = -CUDART_INF_F, sum = 0;
  for (int i = 0; i < rows.n; ++i) max = Larger{}(max, x(i));
  for (int i = 0; i < rows.n; ++i) sum += expf(x(i) - max);
  for (int i = 0; i < rows.n; ++i)
    device::store_float(rows.y, rows.storage, first + i * rows.inner, expf(x(i) - max) / sum);
}

// A thread per row; nearly every row ends the loop at its first element.
__global__ void mark_hidden_rows(SoftmaxRows rows) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= rows.outer * rows.inner) return;
  const int first = first_element(rows, row);
  for (int i = 0; i < rows.n; ++i) {
    if (device::load_float(rows.x, rows.storage, first + i * rows.inner) != -CUDART_INF_F) return;
  }
  for (int i = 0; i < rows.n; ++i)
    device::store_float(rows.y, rows.storage, first + i * rows.inner, CUDART_NAN_F);
}

unsigned blocks_of(int rows, int per_block) {
  return static_cast<unsigned>((rows + per_block - 1) / per_block);
}

}  // namespace

cudaError_t launch_softmax(const SoftmaxRows& rows, cudaStream_t stream) {
  const int count = rows.outer * rows.inner;
  if (rows.inner >= kWarp)
    softmax_columns<<<blocks_of(count, kColumnThreads), kColumnThreads, 0, stream>>>(rows);
  else if (rows.n <= kShortRow)
    softmax_rows<1><<<blocks_of(count, kRowsPerBlock), kWarp * kRowsPerBlock, 0, stream>>>(rows);
  else
    softmax_rows<kLongRowWarps><<<static_cast<unsigned>(count), kWarp * kLongRowWarps, 0, stream>>>(rows);
  return cudaGetLastError();
}

cudaError_t launch_hidden_rows(const SoftmaxRows& rows, cudaStream_t stream) {
  const int count = rows.outer * rows.inner;
  mark_hidden_rows<<<blocks_of(count, kColumnThreads), kColumnThreads, 0, stream>>>(rows);
  return cudaGetLastError();
}

}  // namespace fusesmith
