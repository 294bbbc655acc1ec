// Which ops cuDNN computes; set a flag to false to use this project's own kernels instead.
#pragma once

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

}  // namespace fusesmith::backends
