// Elements of quantized dtypes as f32 and back. What becomes of values beyond the largest number, and of NaN,
// is as graph/dtype.h says. Rounding e4m3 and e5m2 to nearest is the hardware's, on GPUs that have it. Only
// .cu files include this.
#pragma once

#include <cuda_fp8.h>

#include <cstdint>

#include "backends/cuda/kernels/storage.h"

namespace fusesmith::backends::device {

struct QuantizedFormat {
  int precision, min_exponent;
  float lowest, largest, beyond;  // what becomes of larger values, unless they saturate
};

__device__ inline QuantizedFormat format_of(Storage storage) {
  const float nan = __int_as_float(0x7fc00000), infinity = __int_as_float(0x7f800000);
  switch (storage) {
    case Storage::f8e4m3:
      return {4, -6, -448, 448, nan};
    case Storage::f8e5m2:
      return {3, -14, -57344, 57344, infinity};
    case Storage::f8e8m0:
      return {1, -127, 0x1p-127f, 0x1p127f, nan};
    case Storage::f4e2m1:
      return {2, 0, -6, 6, 6};
    case Storage::s8:
      return {8, 7, -128, 127, 127};
    default:
      return {4, 3, -8, 7, 7};
  }
}

__device__ inline int exponent_of(float x) {  // of the largest power of two up to |x|; x is finite
  return x == 0 ? -200 : ilogbf(x);
}

// Every step but one is exact: dividing by and multiplying with a power of two, and the sum of their
// exponents is in the range of f32 unless the value is beyond the format's largest number anyway.
__device__ inline float round_by_step(const QuantizedFormat& format, const StorageRounding& to, float x) {
  const int exponent = max(exponent_of(x), format.min_exponent) - format.precision + 1;
  const float scaled = ldexpf(x, -exponent);
  const float whole = to.direction == 0 ? rintf(scaled) : to.direction > 0 ? ceilf(scaled) : floorf(scaled);
  return copysignf(ldexpf(whole, exponent), x);
}

__device__ inline float round_to_quantized(const StorageRounding& to, float x) {
  const QuantizedFormat format = format_of(to.storage);
  const bool is_integer = to.storage == Storage::s8 || to.storage == Storage::s4;
  if (isnan(x)) return to.storage == Storage::f4e2m1 ? format.largest : is_integer ? 0 : x;
  if ((to.storage == Storage::f8e4m3 || to.storage == Storage::f8e5m2) && to.direction == 0) {
    const auto kind = to.storage == Storage::f8e4m3 ? __NV_E4M3 : __NV_E5M2;
    const auto code = __nv_cvt_float_to_fp8(x, to.saturates ? __NV_SATFINITE : __NV_NOSAT, kind);
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(code, kind)));
  }
  const float y = isinf(x) ? x : round_by_step(format, to, x);
  if (y > format.largest) return to.saturates ? format.largest : format.beyond;
  if (y >= format.lowest) return is_integer ? y + 0.0f : y;
  if (to.storage == Storage::f8e8m0) return isinf(x) ? format.beyond : format.lowest;
  const bool keeps_sign = to.storage == Storage::f8e4m3 || to.storage == Storage::f8e5m2;
  return to.saturates || !keeps_sign ? format.lowest : -format.beyond;
}

__device__ inline float load_quantized(Storage storage, uint8_t code) {
  switch (storage) {
    case Storage::f8e4m3:
      return __half2float(__half(__nv_cvt_fp8_to_halfraw(code, __NV_E4M3)));
    case Storage::f8e5m2:
      return __half2float(__half(__nv_cvt_fp8_to_halfraw(code, __NV_E5M2)));
    case Storage::f8e8m0:
      return __int_as_float(code == 255 ? 0x7fc00000 : code == 0 ? 0x00400000 : code << 23);
    case Storage::f4e2m1: {
      const int magnitude = code & 7, half = magnitude & 1;
      const float value = magnitude < 2 ? 0.5f * static_cast<float>(magnitude)
                                        : ldexpf(1.0f + 0.5f * static_cast<float>(half), magnitude / 2 - 1);
      return code & 8 ? -value : value;
    }
    case Storage::s8:
      return static_cast<float>(static_cast<signed char>(code));
    default:
      return static_cast<float>(static_cast<signed char>(code << 4) >> 4);
  }
}

// The code of x rounded to nearest.
__device__ inline uint8_t store_quantized(Storage storage, float x) {
  if (storage == Storage::f8e4m3) return __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E4M3);
  if (storage == Storage::f8e5m2) return __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E5M2);
  const float y = round_to_quantized({storage, false, 0}, x);
  if (storage == Storage::f8e8m0)
    return isnan(y) ? 255 : static_cast<uint8_t>(__float_as_int(y) >> 23);  // 2^-127 has exponent bits 0
  if (storage != Storage::f4e2m1) {
    const int whole = static_cast<int>(y);
    return static_cast<uint8_t>(storage == Storage::s4 ? whole & 15 : whole & 255);
  }
  const float magnitude = fabsf(y);
  const int exponent = max(exponent_of(magnitude), 0);
  const int code = exponent * 2 + static_cast<int>(ldexpf(magnitude, 1 - exponent));
  return static_cast<uint8_t>(code | (signbit(y) ? 8 : 0));
}

}  // namespace fusesmith::backends::device
