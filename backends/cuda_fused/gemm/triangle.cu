// No shared memory and no barriers: elements that are read again stay in the caches.
#include "backends/cuda/kernels/device_math.cuh"
#include "backends/cuda_fused/device/planted.cuh"
#include "backends/cuda_fused/gemm/triangle.h"

namespace fusesmith::backends {
namespace {

using device::from_float;
using device::planted;
using device::to_float;

constexpr int kLines = 4;  // of each operand, for one thread
constexpr int kWarp = 32;
constexpr int kColumnWarps = kTriangleColumns / kLines;
constexpr int kThreads = kTriangleRows / kLines * kColumnWarps * kWarp;

__host__ __device__ constexpr int tiles(int extent, int tile) { return (extent + tile - 1) / tile; }

// The first of this thread's pairs.
struct Place {
  int batch, row, column, channel;
};

// Blocks are numbered with channels innermost, then columns, rows, the batch.
__device__ Place place_of(const TriangleParams& p) {
  const int channel_tiles = tiles(p.channels, kTriangleChannels), columns = tiles(p.size, kTriangleColumns),
            rows = tiles(p.size, kTriangleRows);
  int block = static_cast<int>(blockIdx.x);
  const int channel_tile = block % channel_tiles;
  block /= channel_tiles;
  const int column_tile = block % columns;
  block /= columns;
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  return {block / rows, block % rows * kTriangleRows + warp / kColumnWarps * kLines,
          column_tile * kTriangleColumns + warp % kColumnWarps * kLines,
          channel_tile * kTriangleChannels + lane};
}

template <class T>
__device__ float rounded(float x) {
  return to_float(from_float<T>(x));
}

template <class In, class Out>
__global__ void __launch_bounds__(kThreads) triangle_product(const __grid_constant__ TriangleParams p) {
  const Place place = place_of(p);
  if (place.row >= p.size || place.column >= p.size || place.channel >= p.channels) return;
  const In* x = static_cast<const In*>(p.x) + place.batch * p.batch_step + place.channel;
  const In *left[kLines], *right[kLines];  // lines beyond the last are replaced by the last
#pragma unroll
  for (int l = 0; l < kLines; ++l) {
    left[l] = x + p.left + min(place.row + l, p.size - 1) * p.line_step;
    right[l] = x + p.right + min(place.column + l, p.size - 1) * p.line_step;
  }
  float sum[kLines][kLines] = {};
  for (int k = 0; k < p.depth; ++k) {
    float a[kLines], b[kLines];
#pragma unroll
    for (int l = 0; l < kLines; ++l) {
      a[l] = to_float(left[l][k * p.depth_step]);
      b[l] = to_float(right[l][k * p.depth_step]);
    }
#pragma unroll
    for (int i = 0; i < kLines; ++i) {
#pragma unroll
      for (int j = 0; j < kLines; ++j) sum[i][j] = fmaf(a[i], b[j], sum[i][j]);
    }
  }
  Out* out = static_cast<Out*>(p.out) + place.channel;
#pragma unroll
  for (int i = 0; i < kLines; ++i) {
#pragma unroll
    for (int j = 0; j < kLines; ++j) {
      const int row = place.row + i, column = place.column + j;
      if (row >= p.size || column >= p.size) continue;
      const float result = planted(p.upcast_skipped) ? rounded<In>(sum[i][j]) : sum[i][j];
      out[((place.batch * p.size + row) * p.size + column) * p.channels] = from_float<Out>(result);
    }
  }
}

template <class In, class Out>
cudaError_t launch(const TriangleParams& p, cudaStream_t stream) {
  const unsigned blocks = static_cast<unsigned>(p.batch) *
                          static_cast<unsigned>(tiles(p.size, kTriangleRows)) *
                          static_cast<unsigned>(tiles(p.size, kTriangleColumns)) *
                          static_cast<unsigned>(tiles(p.channels, kTriangleChannels));
  triangle_product<In, Out><<<blocks, kThreads, 0, stream>>>(p);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_triangle(const TriangleParams& params, cudaStream_t stream) {
  const bool to_f32 = params.out_storage == Storage::f32;
  switch (params.in) {
    case Storage::f16:
      return to_f32 ? launch<__half, float>(params, stream) : launch<__half, __half>(params, stream);
    case Storage::bf16:
      return to_f32 ? launch<__nv_bfloat16, float>(params, stream)
                    : launch<__nv_bfloat16, __nv_bfloat16>(params, stream);
    default:
      return launch<float, float>(params, stream);
  }
}

}  // namespace fusesmith::backends
