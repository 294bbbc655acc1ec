// Which ops cuDNN computes: the one place to turn a family over to this project's own kernels.
#pragma once

namespace fusesmith::backends {

// cuDNN documents neither the accuracy of these functions nor in what precision it computes 16-bit ones: a
// family belongs here only while its results on the card stay within cuda_arithmetic() (arithmetic.h).
struct CudnnFamilies {
  bool relu = true;
  bool sigmoid = true;
  bool silu = true;  // as swish with beta = 1
  bool tanh = true;
  bool softmax = true;
};
inline constexpr CudnnFamilies kCudnn;

}  // namespace fusesmith::backends
