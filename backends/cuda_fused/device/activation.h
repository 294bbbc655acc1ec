// The activations of epilogues and gates, as kernels see them. C++17 without graph headers, so that .cu files
// can include it.
#pragma once

namespace fusesmith::backends {

enum class KernelActivation : int { none, relu, gelu_erf, gelu_tanh, silu, sigmoid };

}  // namespace fusesmith::backends
