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
  static_assert(kTensorAxes == kMaxRank);
  return static_cast<Storage>(dtype);
}

}  // namespace fusesmith::backends
