// The activations of epilogues and gates, in place.
#pragma once

#include <span>

#include "backends/common/float_functions.h"
#include "backends/rewrite/fused_op.h"

namespace fusesmith::backends {

inline void activate(const Activation& activation, std::span<float> x) {
  std::visit(
      [&](const auto& op) {
        using T = std::decay_t<decltype(op)>;
        for (float& value : x) {
          if constexpr (std::is_same_v<T, Relu>) value = relu(value);
          if constexpr (std::is_same_v<T, Gelu>) {
            value = op.form == Gelu::Form::erf ? gelu_erf(value) : gelu_tanh(value);
          }
          if constexpr (std::is_same_v<T, Silu>) value = silu(value);
          if constexpr (std::is_same_v<T, Sigmoid>) value = sigmoid(value);
        }
      },
      activation);
}

}  // namespace fusesmith::backends
