// Converts the activations of fused ops to those of kernels.
#include "backends/cuda_fused/device/activation.h"
#include "backends/cuda_fused/emit/emit_fused.h"

namespace fusesmith::backends {

KernelActivation kernel_activation(const Activation& activation) {
  return std::visit(
      [](const auto& op) {
        using T = std::decay_t<decltype(op)>;
        if constexpr (std::is_same_v<T, Relu>) return KernelActivation::relu;
        if constexpr (std::is_same_v<T, Silu>) return KernelActivation::silu;
        if constexpr (std::is_same_v<T, Sigmoid>) return KernelActivation::sigmoid;
        if constexpr (std::is_same_v<T, Gelu>) {
          return op.form == Gelu::Form::erf ? KernelActivation::gelu_erf : KernelActivation::gelu_tanh;
        }
      },
      activation);
}

}  // namespace fusesmith::backends
