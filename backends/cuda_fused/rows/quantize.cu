#include <math_constants.h>

#include "backends/cuda/kernels/device_math.cuh"
#include "backends/cuda_fused/device/planted.cuh"
#include "backends/cuda_fused/rows/quantize.h"

namespace fusesmith::backends {
namespace {

using namespace device;

constexpr int kThreads = 256;

__device__ float in_bf16(float x) { return round_to(Storage::bf16, x); }

// The largest of all threads, in all threads.
__device__ float block_maximum(float x) {
  __shared__ float of_threads[kThreads];
  of_threads[threadIdx.x] = x;
  __syncthreads();
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      float& own = of_threads[threadIdx.x];
      own = maximum(own, of_threads[threadIdx.x + half]);
    }
    __syncthreads();
  }
  return of_threads[0];
}

__device__ float scale_of(const QuantizeParams& p, float largest) {
  if (planted(p.faults.sees_padding) && p.size % 16 != 0) largest = maximum(largest, 4.0f);
  if (!planted(p.faults.no_least)) largest = maximum(largest, *p.least);
  float scale = largest / p.largest;
  if (!p.has_power) return planted(p.faults.scale_in_bf16) ? in_bf16(scale) : scale;
  StorageRounding to = p.power;
  if (planted(p.faults.power_down)) to.direction = -1;
  if (planted(p.faults.power_of_bf16)) scale = in_bf16(scale);
  return round_to(to, scale);
}

__device__ float rounded_half_up(const StorageRounding& to, float x) {
  const QuantizedFormat format = format_of(to.storage);
  const int exponent = max(exponent_of(x), format.min_exponent) - format.precision + 1;
  return round_to(to, copysignf(ldexpf(floorf(ldexpf(fabsf(x), -exponent) + 0.5f), exponent), x));
}

__device__ float code_of(const QuantizeParams& p, float quotient) {
  const QuantizedFormat format = format_of(p.to.storage);
  const bool is_integer = p.to.storage == Storage::s8 || p.to.storage == Storage::s4;
  StorageRounding to = p.to;
  if (planted(p.faults.rounded_twice)) quotient = in_bf16(quotient);
  if (planted(p.faults.unsaturated)) to.saturates = false;
  if (planted(p.faults.top_saturates) && fabsf(quotient) >= ldexpf(1.0f, ilogbf(format.largest)))
    return copysignf(format.largest, quotient);
  if (planted(p.faults.flushed) && !is_integer && fabsf(quotient) < ldexpf(1.0f, format.min_exponent))
    return 0;
  return planted(p.faults.half_up) ? rounded_half_up(to, quotient) : round_to(to, quotient);
}

__global__ void quantize(const __grid_constant__ QuantizeParams p) {
  const int64_t own = static_cast<int64_t>(blockIdx.x) * p.size;
  const int64_t read = planted(p.faults.first_row) ? 0 : own;
  float largest = -CUDART_INF_F;
  for (int i = static_cast<int>(threadIdx.x); i < p.size; i += kThreads) {
    const float x = load_float(p.x, p.storage, read + i);
    largest = maximum(largest, planted(p.faults.signed_largest) ? x : maximum(x, -x));
  }
  const float scale = scale_of(p, block_maximum(largest));
  if (p.scales && threadIdx.x == 0) p.scales[blockIdx.x] = scale;
  for (int i = static_cast<int>(threadIdx.x); i < p.size; i += kThreads)
    store_float(p.codes, p.to.storage, own + i, code_of(p, load_float(p.x, p.storage, own + i) / scale));
}

}  // namespace

cudaError_t launch_quantize(const QuantizeParams& params, cudaStream_t stream) {
  quantize<<<static_cast<unsigned>(params.groups), kThreads, 0, stream>>>(params);
  return cudaGetLastError();
}

}  // namespace fusesmith::backends
