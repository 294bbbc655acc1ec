// Device code that kernels share: elements of a Storage as f32 and back. Only .cu files include this.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "backends/common/float_functions.h"
#include "backends/cuda/kernels/quantized.cuh"
#include "backends/cuda/kernels/storage.h"

namespace fusesmith::backends::device {

// Conversions of elements of known type: exact to f32, rounded once to nearest even from f32.
__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__half x) { return __half2float(x); }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
template <class T>
__device__ T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__device__ inline __half from_float<__half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

// An integer rounded to odd in f32: truncated, with the last bit set if the truncation was inexact. Rounding
// the result to a 16-bit type then gives the value nearest to the integer itself (f64_to_f32_odd of
// graph/dtype_bits.h explains why).
__device__ inline float int_to_float_odd(int x) {
  const float cut = __int2float_rz(x);
  return static_cast<long long>(cut) == x ? cut : __int_as_float(__float_as_int(cut) | 1);
}

// Element i as f32: bool is 0 or 1, i32 is rounded to nearest even.
__device__ inline float load_float(const void* data, Storage storage, int64_t i) {
  switch (storage) {
    case Storage::f32:
      return static_cast<const float*>(data)[i];
    case Storage::f16:
      return __half2float(static_cast<const __half*>(data)[i]);
    case Storage::bf16:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
    case Storage::i32:
      return __int2float_rn(static_cast<const int*>(data)[i]);
    case Storage::boolean:
      return static_cast<const uint8_t*>(data)[i] != 0 ? 1.0f : 0.0f;
    default:
      return load_quantized(storage, static_cast<const uint8_t*>(data)[i]);
  }
}

// Element i := x, rounded once. `storage` is a float or quantized type.
__device__ inline void store_float(void* data, Storage storage, int64_t i, float x) {
  if (storage == Storage::f32)
    static_cast<float*>(data)[i] = x;
  else if (storage == Storage::f16)
    static_cast<__half*>(data)[i] = __float2half_rn(x);
  else if (storage == Storage::bf16)
    static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16_rn(x);
  else
    static_cast<uint8_t*>(data)[i] = store_quantized(storage, x);
}

// x rounded to `storage` and converted back.
__device__ inline float round_to(Storage storage, float x) {
  if (storage == Storage::f16) return __half2float(__float2half_rn(x));
  if (storage == Storage::bf16) return __bfloat162float(__float2bfloat16_rn(x));
  return x;
}
__device__ inline float round_to(const StorageRounding& to, float x) {
  return to.storage > Storage::boolean ? round_to_quantized(to, x) : round_to(to.storage, x);
}

}  // namespace fusesmith::backends::device
