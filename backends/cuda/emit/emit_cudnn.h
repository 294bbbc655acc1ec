// Which ops cuDNN computes; set a flag to false to use this project's own kernels instead.
#pragma once

#include <type_traits>

#include "graph/op.h"

namespace fusesmith::backends {

// cuDNN documents neither the accuracy of these functions nor the precision in which it computes 16-bit ones.
// A flag may be true only while the results measured on a GPU are within cuda_arithmetic() (arithmetic.h).
struct CudnnFamilies {
  bool relu = true;
  bool sigmoid = true;
  bool silu = true;  // as swish with beta = 1
  bool tanh = true;
  bool softmax = true;
};
inline constexpr CudnnFamilies kCudnn;

// The pointwise ops that have an emit() of their own, which consults these flags.
template <class T>
inline constexpr bool kCudnnActivation = std::is_same_v<T, Relu> || std::is_same_v<T, Sigmoid> ||
                                         std::is_same_v<T, Silu> || std::is_same_v<T, Tanh>;

}  // namespace fusesmith::backends
