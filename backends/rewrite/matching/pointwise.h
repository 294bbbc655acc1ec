// What several matchers ask about pointwise ops.
#pragma once

#include <optional>
#include <type_traits>

#include "backends/rewrite/fused_op.h"
#include "backends/rewrite/matching/match_context.h"

namespace fusesmith::backends {

// Whether the node can be a step of a pointwise chain.
inline bool is_elementwise(const MatchContext& context, int n) {
  const Op& op = context.node(n).op;
  return is_pointwise(op) || pointwise_formula(op, context.input_types(n));
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
