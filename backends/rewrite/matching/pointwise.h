// What several matchers ask about pointwise ops.
#pragma once

#include <optional>
#include <type_traits>

#include "backends/rewrite/fused_op.h"

namespace fusesmith::backends {

// Whether the op can be a step of a pointwise chain.
inline bool is_pointwise(const Op& op) {
  const OpClass op_class = info(op).op_class;
  return op_class == OpClass::pointwise || op_class == OpClass::select;
}

// The op as an activation that an epilogue or a gate can apply, if it is one.
inline std::optional<Activation> activation_of(const Op& op) {
  return std::visit(
      [](const auto& x) -> std::optional<Activation> {
        if constexpr (std::is_constructible_v<Activation, decltype(x)>) return Activation(x);
        return std::nullopt;
      },
      op);
}

}  // namespace fusesmith::backends
