// Three passes over a row: maximum, sum of exponentials, quotients. One warp processes a row; a block, if the
// row is long; one thread, if rows are interleaved in memory. The order of sums depends only on n.
#include <math_constants.h>

#include <cfloat>

#include "backends/cuda/kernels/device_math.cuh"
#include "backends/cuda/kernels/row_reduce.cuh"
#include "backends/cuda/kernels/softmax.h"

namespace fusesmith::backends {
namespace {

using device::Add;
using device::kWarp;
using device::over_row;

constexpr int kColumnThreads = 128;

struct Larger {
  __device__ float operator()(float a, float b) const { return b > a ? b : a; }  // ignores NaN in b
};
__device__ int first_element(const SoftmaxRows& rows, int row) {
  return row / rows.inner * rows.n * rows.inner + row % rows.inner;
}

// The maximum ignores NaN, but exp(x - max) does not: a NaN or +inf, or a row of -inf alone, makes the sum
// NaN and so the whole row.
template <int kWarps>
__global__ void softmax_rows(SoftmaxRows rows) {
  const auto [row, lane] = device::RowThread<kWarps>();
  constexpr int kLanes = device::RowThread<kWarps>::kLanes;
  if (row >= rows.outer * rows.inner) return;  // whole warps of short rows; never part of a long one's block
  const int first = first_element(rows, row);
  const auto x = [&](int i) { return device::load_float(rows.x, rows.storage, first + i * rows.inner); };
  float max = -CUDART_INF_F;
  for (int i = lane; i < rows.n; i += kLanes) max = Larger{}(max, x(i));
  max = over_row<kWarps>(max, Larger{});
  float sum = 0;
  for (int i = lane; i < rows.n; i += kLanes) sum += expf(x(i) - max);
  sum = over_row<kWarps>(sum, Add{});
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

// One thread per row; for nearly every row the loop ends at the first element.
__global__ void mend_lowest_rows(SoftmaxRows rows) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= rows.outer * rows.inner) return;
  const int first = first_element(rows, row);
  const auto x = [&](int i) { return device::load_float(rows.x, rows.storage, first + i * rows.inner); };
  float finite = 0;
  for (int i = 0; i < rows.n; ++i) {
    if (!(x(i) <= -FLT_MAX)) return;
    finite += x(i) == -FLT_MAX ? 1.0f : 0.0f;
  }
  for (int i = 0; i < rows.n; ++i) {
    const float share = x(i) == -FLT_MAX ? 1.0f / finite : finite > 0 ? 0.0f : CUDART_NAN_F;
    device::store_float(rows.y, rows.storage, first + i * rows.inner, share);
  }
}

unsigned blocks_of(int rows) { return static_cast<unsigned>((rows + kColumnThreads - 1) / kColumnThreads); }

}  // namespace

cudaError_t launch_softmax(const SoftmaxRows& rows, cudaStream_t stream) {
  const int count = rows.outer * rows.inner;
  if (rows.inner >= kWarp)
    softmax_columns<<<blocks_of(count), kColumnThreads, 0, stream>>>(rows);
  else
    device::for_rows(count, rows.n, [&](unsigned blocks, unsigned threads, auto warps) {
      softmax_rows<decltype(warps)::value><<<blocks, threads, 0, stream>>>(rows);
    });
  return cudaGetLastError();
}

cudaError_t launch_lowest_rows(const SoftmaxRows& rows, cudaStream_t stream) {
  const int count = rows.outer * rows.inner;
  mend_lowest_rows<<<blocks_of(count), kColumnThreads, 0, stream>>>(rows);
  return cudaGetLastError();
}

}  // namespace fusesmith::backends
