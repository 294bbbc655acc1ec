// f16 and bf16 on the tensor cores: each of 8 warps keeps 32 x 16 sums in fragments of m16n8k16 (PTX ISA,
// "Matrix Fragments for mma.m16n8k16 with floating point type"). All memory layouts become the same layout in
// shared memory.
#include "backends/cuda_fused/device/tensor_core.cuh"
#include "backends/cuda_fused/gemm/gemm.h"
#include "backends/cuda_fused/gemm/gemm_tile.cuh"

namespace fusesmith::backends {
namespace {

using namespace device;

constexpr int kDepth = kTileDepth<__half>;
constexpr int kPitch = kDepth + 8;  // the 8 lines that a fragment reads are in different banks
constexpr int kStep = 16;           // terms of one mma

template <class T>
struct Panel {
  alignas(16) T at[kTile][kPitch];  // by line, then term
};

template <class T>
__device__ void write_share(const GemmShare<T>& share, GemmReading reading, const GemmPiece<T>& piece,
                            Panel<T>& panel) {
  if (reading.vectors && reading.along_depth) {
    *reinterpret_cast<GemmPiece<T>*>(&panel.at[share.line][share.depth]) = piece;
    return;
  }
#pragma unroll
  for (int i = 0; i < kShare<T>; ++i)
    panel.at[share.line + i * share.line_step][share.depth + i * share.depth_step] = piece.value[i];
}

// Two neighbouring terms of a line.
template <class T>
__device__ unsigned pair(const Panel<T>& panel, int line, int term) {
  return *reinterpret_cast<const unsigned*>(&panel.at[line][term]);
}

// sum[i][j] is the fragment at row + 16 i, column + 8 j; g is this lane's group, t its index in the group.
template <class T>
__device__ void multiply(const Panel<T>& a, const Panel<T>& b, int row, int column, int g, int t,
                         float (&sum)[2][2][4]) {
#pragma unroll
  for (int k = 0; k < kDepth; k += kStep) {
    const int low = k + 2 * t, high = low + 8;
    unsigned x[2][4], y[2][2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int line = row + 16 * i + g;
      x[i][0] = pair(a, line, low);
      x[i][1] = pair(a, line + 8, low);
      x[i][2] = pair(a, line, high);
      x[i][3] = pair(a, line + 8, high);
      y[i][0] = pair(b, column + 8 * i + g, low);
      y[i][1] = pair(b, column + 8 * i + g, high);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < 2; ++j) mma<T>(sum[i][j], x[i], y[j][0], y[j][1]);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kGemmThreads, 2) gemm_mma(const __grid_constant__ GemmParams p) {
  __shared__ GemmTile tile;
  __shared__ Panel<T> a_panel, b_panel;
  locate_tile(p, tile);
  const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const int row = warp / 4 * 32, column = warp % 4 * 16;
  float sum[2][2][4] = {};
  for_each_tile_of_terms<T>(
      p, tile,
      [&](const GemmShare<T>& a_share, const GemmPiece<T>& a, const GemmShare<T>& b_share,
          const GemmPiece<T>& b) {
        write_share(a_share, p.read_a, a, a_panel);
        write_share(b_share, p.read_b, b, b_panel);
      },
      [&](int next_term) {
        multiply(a_panel, b_panel, row, column, g, t, sum);
        for (auto& lines : sum) {
          for (auto& piece : lines) store_partials(p, next_term, piece);
        }
      });
#pragma unroll
  for (int f = 0; f < 16; ++f) {
    const int i = f / 8, j = f / 4 % 2, e = f % 4;
    finish<T>(p, tile, row + 16 * i + g + e / 2 * 8, column + 8 * j + 2 * t + e % 2, sum[i][j][e]);
  }
}

}  // namespace

cudaError_t launch_gemm_tensor_core(const GemmParams& params, cudaStream_t stream) {
  if (params.storage == Storage::f16)
    gemm_mma<__half><<<gemm_blocks(params), kGemmThreads, 0, stream>>>(params);
  else
    gemm_mma<__nv_bfloat16><<<gemm_blocks(params), kGemmThreads, 0, stream>>>(params);
  return cudaGetLastError();
}

}  // namespace fusesmith::backends
