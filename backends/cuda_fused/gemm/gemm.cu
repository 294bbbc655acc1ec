// f32 on the FMA units: each thread keeps 4 x 4 sums in registers.
#include "backends/cuda_fused/gemm/gemm.h"
#include "backends/cuda_fused/gemm/gemm_tile.cuh"

namespace fusesmith::backends {
namespace {

using namespace device;

constexpr int kDepth = kTileDepth<float>;
constexpr int kPitch = kTile + 4;  // keeps float4 reads aligned, and writes along k in different banks
using Piece = GemmPiece<float>;

struct Panel {
  alignas(16) float at[kDepth][kPitch];  // by term, then line
};

__device__ void write_share(const GemmShare<float>& share, const Piece& piece, Panel& panel) {
#pragma unroll
  for (int i = 0; i < kShare<float>; ++i)
    panel.at[share.depth + i * share.depth_step][share.line + i * share.line_step] = piece.value[i];
}

// Injected fault: the low 13 bits of each input are cut off.
__device__ void cut_to_tf32(const GemmParams& p, Piece& piece) {
  if (!planted(p.faults.tf32_for_ieee)) return;
  for (float& x : piece.value) x = __uint_as_float(__float_as_uint(x) & 0xffffe000u);
}

__device__ void multiply(const Panel& a, const Panel& b, int row, int column, float (&sum)[4][4]) {
#pragma unroll
  for (int k = 0; k < kDepth; ++k) {
    const float4 x = *reinterpret_cast<const float4*>(&a.at[k][row]);
    const float4 y = *reinterpret_cast<const float4*>(&b.at[k][column]);
    const float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) sum[i][j] = fmaf(xs[i], ys[j], sum[i][j]);
    }
  }
}

__global__ void __launch_bounds__(kGemmThreads, 2) gemm_fma(const __grid_constant__ GemmParams p) {
  __shared__ GemmTile tile;
  __shared__ Panel a_panel, b_panel;
  locate_tile(p, tile);
  const int row = threadIdx.x / 16 * 4, column = threadIdx.x % 16 * 4;
  float sum[4][4] = {};
  for_each_tile_of_terms<float>(
      p, tile,
      [&](const GemmShare<float>& a_share, Piece a, const GemmShare<float>& b_share, Piece b) {
        cut_to_tf32(p, a);
        cut_to_tf32(p, b);
        write_share(a_share, a, a_panel);
        write_share(b_share, b, b_panel);
      },
      [&](int next_term) {
        multiply(a_panel, b_panel, row, column, sum);
        for (auto& line : sum) store_partials(p, next_term, line);
      });
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) finish<float>(p, tile, row + i, column + j, sum[i][j]);
  }
}

}  // namespace

cudaError_t launch_gemm_fma(const GemmParams& params, cudaStream_t stream) {
  gemm_fma<<<gemm_blocks(params), kGemmThreads, 0, stream>>>(params);
  return cudaGetLastError();
}

cudaError_t launch_gemm(const GemmParams& params, cudaStream_t stream) {
  return params.storage == Storage::f32 ? launch_gemm_fma(params, stream)
                                        : launch_gemm_tensor_core(params, stream);
}

}  // namespace fusesmith::backends
