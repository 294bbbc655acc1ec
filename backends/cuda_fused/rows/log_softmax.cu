// One warp for each row of up to 1024 columns, 4 or 8 warps for longer rows, as in welford.cu.
#include <math_constants.h>

#include "backends/cuda_fused/device/planted.cuh"
#include "backends/cuda_fused/rows/log_softmax.h"
#include "backends/cuda_fused/rows/welford.cuh"

namespace fusesmith::backends {
namespace {

using namespace device;

struct Larger {
  __device__ float operator()(float a, float b) const { return maximum(a, b); }
};

template <class T, int kWarps>
__device__ float log_sum_exp(const LaneOfRow<StoredRow<T>, kWarps>& lane, const StoredRow<T>& row,
                             const LogSoftmaxParams& p) {
  float max = -CUDART_INF_F;
  lane.each_piece(row, p.columns, [&](int, int column, const Piece<T>& piece) {
#pragma unroll
    for (int j = 0; j < Piece<T>::kSize; ++j) {
      if (column + j < p.columns) max = Larger{}(max, piece[j]);
    }
  });
  max = combined_over_row<kWarps>(max, Larger{});
  if (!isfinite(max)) return max;  // in all lanes of the row
  if (planted(p.faults.without_shift)) max = 0;
  const bool padded = planted(p.faults.padding_in_sum);
  float parts[kChains] = {};
  lane.each_piece(row, p.columns, [&](int, int column, const Piece<T>& piece) {
#pragma unroll
    for (int j = 0; j < Piece<T>::kSize; ++j) {
      if (padded || column + j < p.columns) parts[j % kChains] += expf(piece[j] - max);
    }
  });
  return logf(combined_over_row<kWarps>((parts[0] + parts[1]) + (parts[2] + parts[3]), Add{})) + max;
}

template <class T, int kWarps>
__global__ void __launch_bounds__(kWarps == 1 ? kWarp * kBlockWarps : kWarp * kWarps, kWarps <= 4 ? 9 : 3)
    log_softmax(const __grid_constant__ LogSoftmaxParams p) {
  constexpr int kLanes = kWarp * kWarps;
  const int row = static_cast<int>(blockIdx.x * (blockDim.x / kLanes) + threadIdx.x / kLanes);
  if (row >= p.rows) return;  // whole warps of short rows; never a part of a long row's block
  const StoredRow<T> x{static_cast<const T*>(p.x) + row * p.columns, p.columns};
  LaneOfRow<StoredRow<T>, kWarps> lane(p.columns, static_cast<int>(threadIdx.x) % kLanes);
  lane.read(x);
  const float sum = log_sum_exp<T, kWarps>(lane, x, p);
  T* out = static_cast<T*>(p.out) + row * p.columns;
  lane.each_piece(x, p.columns, [&](int, int column, const Piece<T>& from) {
    float y[Piece<T>::kSize];
#pragma unroll
    for (int j = 0; j < Piece<T>::kSize; ++j) y[j] = from[j] - sum;
    store_rounded(out, column, p.columns, y);
  });
}

}  // namespace

cudaError_t launch_log_softmax(const LogSoftmaxParams& params, cudaStream_t stream) {
  return for_normed_rows(params.storage, params.rows, params.columns,
                         [&](auto element, unsigned blocks, unsigned threads, auto warps) {
                           log_softmax<decltype(element), decltype(warps)::value>
                               <<<blocks, threads, 0, stream>>>(params);
                         });
}

}  // namespace fusesmith::backends
