// One warp for each row of up to 1024 columns, 4 or 8 warps for longer rows, as in welford.cu.
#include "backends/cuda_fused/device/planted.cuh"
#include "backends/cuda_fused/rows/row_pair.cuh"
#include "backends/cuda_fused/rows/softmax_backward.h"

namespace fusesmith::backends {
namespace {

using namespace device;

__device__ float scaled(const SoftmaxGradientParams& p, float x) {
  return p.divide ? x / p.factor : x * p.factor;
}

template <class T, int kWarps>
__device__ float sum_of(const LaneOfRow<RowPair<T>, kWarps>& lane, const RowPair<T>& row,
                        const SoftmaxGradientParams& p) {
  using Elements = typename RowPair<T>::Elements;
  const bool of_gradients = p.of_log || planted(p.faults.sum_of_gradients);
  const int end = planted(p.faults.tailless) && p.columns > 8 ? p.columns - p.columns % 8 : p.columns;
  float sum = sum_over_row<0>(lane, row, end, [&](const Elements& piece, int j, int) {
    return of_gradients ? piece.first[j] : piece.first[j] * piece.second[j];
  });
  if (planted(p.faults.without_sum)) sum = 0;
  return planted(p.faults.sum_in_bf16) ? round_to(Storage::bf16, sum) : sum;
}

template <class T, int kWarps>
__global__ void __launch_bounds__(kWarps == 1 ? kWarp * kBlockWarps : kWarp * kWarps, kWarps <= 4 ? 4 : 2)
    softmax_gradient(const __grid_constant__ SoftmaxGradientParams p) {
  using Elements = typename RowPair<T>::Elements;
  constexpr int kLanes = kWarp * kWarps;
  const int number = static_cast<int>(blockIdx.x * (blockDim.x / kLanes) + threadIdx.x / kLanes);
  if (number >= p.rows) return;  // whole warps of short rows; never a part of a long row's block
  const int first = number * p.columns;
  const RowPair<T> row{static_cast<const T*>(p.dy) + (planted(p.faults.first_row) ? 0 : first),
                       static_cast<const T*>(p.y) + first, p.columns};
  LaneOfRow<RowPair<T>, kWarps> lane(p.columns, static_cast<int>(threadIdx.x) % kLanes);
  lane.read(row);
  const float sum = sum_of<T, kWarps>(lane, row, p);
  const bool in_part = p.scales && planted(p.faults.scaled_in_part);
  lane.each_piece(row, p.columns, [&](int, int column, const Elements& from) {
    float dx[Elements::kSize];
#pragma unroll
    for (int j = 0; j < Elements::kSize; ++j) {
      const float dy = in_part ? scaled(p, from.first[j]) : from.first[j], y = from.second[j];
      dx[j] = p.of_log ? dy - (planted(p.faults.logarithms) ? y : expf(y)) * sum : y * (dy - sum);
      if (p.scales && !in_part) dx[j] = scaled(p, dx[j]);
    }
    store_rounded(static_cast<T*>(p.out) + first, column, p.columns, dx);
  });
}

}  // namespace

cudaError_t launch_softmax_gradient(const SoftmaxGradientParams& params, cudaStream_t stream) {
  return for_normed_rows(params.storage, params.rows, params.columns,
                         [&](auto element, unsigned blocks, unsigned threads, auto warps) {
                           softmax_gradient<decltype(element), decltype(warps)::value>
                               <<<blocks, threads, 0, stream>>>(params);
                         });
}

}  // namespace fusesmith::backends
