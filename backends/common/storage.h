// Elements in their storage type, for kernels that copy bits and compute nothing.
#pragma once

#include <type_traits>

#include "graph/tensor.h"

namespace fusesmith::backends {

// Calls f(std::type_identity<T>{}) with the T for which Tensor::as<T>() reads this dtype.
template <class F>
void with_storage(Dtype dtype, F f) {
  switch (dtype) {
    case Dtype::f32:
      return f(std::type_identity<float>{});
    case Dtype::f16:
    case Dtype::bf16:
      return f(std::type_identity<uint16_t>{});
    case Dtype::i32:
      return f(std::type_identity<int32_t>{});
    default:  // bool, and quantized dtypes
      return f(std::type_identity<uint8_t>{});
  }
}

}  // namespace fusesmith::backends
