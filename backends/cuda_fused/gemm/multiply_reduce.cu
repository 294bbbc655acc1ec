// Three kernels, for short, medium and long sums.
#include "backends/cuda/kernels/device_math.cuh"
#include "backends/cuda_fused/device/planted.cuh"
#include "backends/cuda_fused/gemm/multiply_reduce.h"

namespace fusesmith::backends {
namespace {

using device::planted;

constexpr int kThreads = 256;
constexpr int kWarp = 32;
constexpr int kWarps = kThreads / kWarp;
// The longest sums that one thread, or one warp, computes.
constexpr int kThreadTerms = 16;
constexpr int kWarpTerms = 256;

struct Offsets {
  int a = 0, b = 0, out = 0;
};

template <int kMax>
__device__ Offsets offsets_at(const ReduceAxes<kMax>& axes, int index) {
  Offsets at;
  for (int d = axes.rank - 1; d >= 0; --d) {
    const ReduceAxis& axis = axes.axis[d];
    const int outer = d == 0 ? 0 : index / axis.size;
    const int i = index - outer * axis.size;
    at.a += i * axis.a;
    at.b += i * axis.b;
    at.out += i * axis.out;
    index = outer;
  }
  return at;
}

// The terms first, first + step, ... of one output element, added in that order.
__device__ float sum_of_terms(const MultiplyReduceParams& p, const Offsets& element, int first, int step) {
  float sum = 0;
  for (int i = first; i < p.summed.count; i += step) {
    const Offsets term = offsets_at(p.summed, i);
    const float x = device::load_float(p.a, p.storage, element.a + term.a);
    const float y = device::load_float(p.b, p.storage, element.b + term.b);
    sum = i == first ? x * y : fmaf(x, y, sum);
  }
  return sum;
}

// The same in every lane.
__device__ float sum_over_warp(float x) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(0xffffffffu, x, distance);
  return x;
}

__global__ void __launch_bounds__(kThreads) reduce_by_thread(const __grid_constant__ MultiplyReduceParams p) {
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (i >= p.kept.count) return;
  const Offsets element = offsets_at(p.kept, i);
  device::store_float(p.out, p.storage, element.out, sum_of_terms(p, element, 0, 1));
}

__global__ void __launch_bounds__(kThreads) reduce_by_warp(const __grid_constant__ MultiplyReduceParams p) {
  const int i = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / kWarp;
  if (i >= p.kept.count) return;  // whole warps
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const Offsets element = offsets_at(p.kept, i);
  const float sum = sum_over_warp(sum_of_terms(p, element, lane, kWarp));
  if (lane == 0) device::store_float(p.out, p.storage, element.out, sum);
}

__global__ void __launch_bounds__(kThreads) reduce_by_block(const __grid_constant__ MultiplyReduceParams p) {
  __shared__ float sums[kWarps];
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const Offsets element = offsets_at(p.kept, static_cast<int>(blockIdx.x));
  const float sum = sum_over_warp(sum_of_terms(p, element, static_cast<int>(threadIdx.x), kThreads));
  if (lane == 0) sums[warp] = sum;
  if (!planted(p.races)) __syncthreads();
  if (warp != 0) return;
  const float total = sum_over_warp(lane < kWarps ? sums[lane] : 0.0f);
  if (lane == 0) device::store_float(p.out, p.storage, element.out, total);
}

unsigned blocks_for(int count, int per_block) {
  return static_cast<unsigned>((count + per_block - 1) / per_block);
}

}  // namespace

// A thread's products and sums are one rounding each; adding the zeros of idle lanes is exact.
int multiply_reduce_height(int terms) {
  constexpr int kWarpSums = 5, kBlockSums = 3;  // log2 of kWarp and of kWarps
  if (terms <= kThreadTerms) return terms;
  if (terms <= kWarpTerms) return (terms + kWarp - 1) / kWarp + kWarpSums;
  return (terms + kThreads - 1) / kThreads + kWarpSums + kBlockSums;
}

cudaError_t launch_multiply_reduce(const MultiplyReduceParams& params, cudaStream_t stream) {
  if (params.summed.count <= kThreadTerms) {
    reduce_by_thread<<<blocks_for(params.kept.count, kThreads), kThreads, 0, stream>>>(params);
  } else if (params.summed.count <= kWarpTerms) {
    reduce_by_warp<<<blocks_for(params.kept.count, kWarps), kThreads, 0, stream>>>(params);
  } else {
    reduce_by_block<<<static_cast<unsigned>(params.kept.count), kThreads, 0, stream>>>(params);
  }
  return cudaGetLastError();
}

}  // namespace fusesmith::backends
