// One warp for each row of up to 1024 columns, 4 or 8 warps for longer rows.
#include "backends/cuda_fused/device/planted.cuh"
#include "backends/cuda_fused/rows/welford.cuh"
#include "backends/cuda_fused/rows/welford.h"

namespace fusesmith::backends {
namespace {

using namespace device;

__device__ Normal normal_of(Statistics s, const WelfordParams& p) {
  if (planted(p.faults.moments)) {
    s.mean /= s.count;
    s.squares = fmaxf(0, s.squares / s.count - s.mean * s.mean) * s.count;
  }
  const bool unbiased = planted(p.faults.unbiased_variance) && s.count > 1;
  const float variance = s.squares / (unbiased ? s.count - 1 : s.count);
  if (planted(p.faults.eps_outside_sqrt)) return {s.mean, 1.0f / (sqrtf(variance) + p.eps)};
  return {s.mean, reciprocal_sqrt(variance + p.eps)};
}

template <class T, int kWarps>
__global__ void __launch_bounds__(kWarps == 1 ? kWarp * kBlockWarps : kWarp * kWarps, kWarps <= 4 ? 9 : 3)
    welford(const __grid_constant__ WelfordParams p) {
  constexpr int kLanes = kWarp * kWarps;
  const int row = static_cast<int>(blockIdx.x * (blockDim.x / kLanes) + threadIdx.x / kLanes);
  if (row >= p.rows) return;  // whole warps of short rows; never a part of a long row's block
  const StoredRow<T> x{static_cast<const T*>(p.x) + row * p.columns, p.columns};
  int number = static_cast<int>(threadIdx.x) % kLanes;
  if (planted(p.faults.lanes_by_rows) && p.rows > 4) number = number * 5 % kLanes;
  LaneOfRow<StoredRow<T>, kWarps> lane(p.columns, number);
  const bool previous = planted(p.faults.previous_row) && row > 0;
  const StoredRow<T> measured{previous ? x.at - p.columns : x.at, p.columns};
  lane.read(measured);
  const bool even = p.columns % lane.kStep == 0;  // all lanes have the same number of elements
  const bool moments = planted(p.faults.moments);
  int end = p.columns;
  if (planted(p.faults.warp_tail)) end = (end + lane.kStep - 1) / lane.kStep * lane.kStep;
  const Statistics s = even ? lane.template statistics<true>(measured, end, moments)
                            : lane.template statistics<false>(measured, end, moments);
  Normal normal = normal_of(s, p);
  const bool first = threadIdx.x % kLanes == 0;
  normal.mean = shown(p.mean, row, normal.mean, first);
  normal.scale = shown(p.rstd, row, normal.scale, first);
  if (previous) lane.read(x);
  T* out = static_cast<T*>(p.out) + row * p.columns;
  lane.each_piece(x, p.columns, [&](int, int column, const Piece<T>& from) {
    float y[Piece<T>::kSize];
    normalize<T>(from, normal, p.weight, p.bias, column, p.columns, y);
    store_rounded(out, column, p.columns, y);
  });
}

}  // namespace

cudaError_t launch_welford(const WelfordParams& params, cudaStream_t stream) {
  return for_normed_rows(params.storage, params.rows, params.columns,
                         [&](auto element, unsigned blocks, unsigned threads, auto warps) {
                           welford<decltype(element), decltype(warps)::value>
                               <<<blocks, threads, 0, stream>>>(params);
                         });
}

}  // namespace fusesmith::backends
