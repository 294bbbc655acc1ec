// Dtype on the host, Storage on the device.
#pragma once

#include "backends/cuda/kernels/storage.h"
#include "graph/tensor.h"

namespace fusesmith::backends {

inline Storage storage_of(Dtype dtype) {
  static_assert(static_cast<int>(Storage::f32) == static_cast<int>(Dtype::f32));
  static_assert(static_cast<int>(Storage::f16) == static_cast<int>(Dtype::f16));
  static_assert(static_cast<int>(Storage::bf16) == static_cast<int>(Dtype::bf16));
  static_assert(static_cast<int>(Storage::i32) == static_cast<int>(Dtype::i32));
  static_assert(static_cast<int>(Storage::boolean) == static_cast<int>(Dtype::boolean));
  static_assert(static_cast<int>(Storage::f8e4m3) == static_cast<int>(Dtype::f8e4m3));
  static_assert(static_cast<int>(Storage::f8e5m2) == static_cast<int>(Dtype::f8e5m2));
  static_assert(static_cast<int>(Storage::f8e8m0) == static_cast<int>(Dtype::f8e8m0));
  static_assert(static_cast<int>(Storage::f4e2m1) == static_cast<int>(Dtype::f4e2m1));
  static_assert(static_cast<int>(Storage::s8) == static_cast<int>(Dtype::s8));
  static_assert(static_cast<int>(Storage::s4) == static_cast<int>(Dtype::s4));
  static_assert(static_cast<size_t>(kLastStorage) + 1 == kDtypes.size());
  static_assert(kTensorAxes == kMaxRank);
  return static_cast<Storage>(dtype);
}

inline StorageRounding storage_rounding(const RoundTo& to) {
  const signed char direction = to.rounding == Rounding::nearest ? 0 : to.rounding == Rounding::up ? 1 : -1;
  return {storage_of(to.dtype), to.overflow == Overflow::saturate, direction};
}

}  // namespace fusesmith::backends
