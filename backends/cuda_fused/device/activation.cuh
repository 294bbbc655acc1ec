// An activation chosen at run time. Only .cu files include this.
#pragma once

#include "backends/cuda/kernels/device_math.cuh"
#include "backends/cuda_fused/device/activation.h"

namespace fusesmith::backends::device {

__device__ __noinline__ inline float activate(KernelActivation activation, float x) {
  switch (activation) {
    case KernelActivation::none:
      return x;
    case KernelActivation::relu:
      return relu(x);
    case KernelActivation::gelu_erf:
      return gelu_erf(x);
    case KernelActivation::gelu_tanh:
      return gelu_tanh(x);
    case KernelActivation::silu:
      return silu(x);
    case KernelActivation::sigmoid:
      return sigmoid(x);
  }
  return x;
}

}  // namespace fusesmith::backends::device
