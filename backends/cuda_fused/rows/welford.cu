// A warp for each row of up to 1024 columns, 4 or 8 for a longer one.
#include "backends/cuda_fused/device/planted.cuh"
#include "backends/cuda_fused/rows/welford.cuh"
#include "backends/cuda_fused/rows/welford.h"

namespace fusesmith::backends {
namespace {

using namespace device;

struct Normal {
  float mean, scale;
};

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
  if (row >= p.rows) return;  // whole warps where a warp takes a row, never where a block does
  const StoredRow<T> x{static_cast<const T*>(p.x) + row * p.columns, p.columns};
  LaneOfRow<StoredRow<T>, kWarps> lane(p.columns, static_cast<int>(threadIdx.x) % kLanes);
  const bool previous = planted(p.faults.previous_row) && row > 0;
  const StoredRow<T> measured{previous ? x.at - p.columns : x.at, p.columns};
  lane.read(measured);
  const bool even = p.columns % lane.kStep == 0;  // every lane sees as much as every other
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
    Piece<T> weight, bias, y;
    if (p.weight) weight = load(static_cast<const T*>(p.weight), column, p.columns);
    if (p.bias) bias = load(static_cast<const T*>(p.bias), column, p.columns);
#pragma unroll
    for (int j = 0; j < Piece<T>::kSize; ++j) {
      float value = (from[j] - normal.mean) * normal.scale;
      if (p.weight) value *= weight[j];
      if (p.bias) value += bias[j];
      y.at[j] = from_float<T>(value);
    }
    store(out, column, p.columns, y);
  });
}

template <class T>
cudaError_t launch(const WelfordParams& p, cudaStream_t stream) {
  for_normed_rows(p.rows, p.columns, [&](unsigned blocks, unsigned threads, auto warps) {
    welford<T, decltype(warps)::value><<<blocks, threads, 0, stream>>>(p);
  });
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_welford(const WelfordParams& params, cudaStream_t stream) {
  switch (params.storage) {
    case Storage::f32:
      return launch<float>(params, stream);
    case Storage::f16:
      return launch<__half>(params, stream);
    case Storage::bf16:
      return launch<__nv_bfloat16>(params, stream);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace fusesmith::backends
