// The order in which a fused kernel adds up, where it promises more than its backend does for every kernel:
// the one way to say so, for every fused backend.
#pragma once

#include <optional>
#include <variant>

#include "backends/rewrite/fused_op.h"
#include "oracle/contract.h"

namespace fusesmith::backends {

struct SumOrder {
  std::optional<double> products = {};  // Arithmetic::sum_height
  std::optional<RowSums> rows = {};     // Arithmetic::row_sums
  bool ieee = false;                    // products of f32 are never of tf32 operands, whatever the policy
  bool batch_invariant = false;         // Arithmetic::batch_invariant
};

// `Device` is the backend's tag. A kernel that promises something has an overload beside it:
// SumOrder sum_order(const Op&, Device).
template <class Device, class Fused>
void state_order(const Fused& fused, Arithmetic& arithmetic) {
  std::visit(
      [&](const auto& op) {
        if constexpr (requires { sum_order(op, Device{}); }) {
          const SumOrder order = sum_order(op, Device{});
          if (order.products) arithmetic.sum_height = *order.products;
          if (order.rows) arithmetic.row_sums = *order.rows;
          if (order.ieee) arithmetic.tf32 = false;
          arithmetic.batch_invariant = arithmetic.batch_invariant || order.batch_invariant;
        }
      },
      fused);
}

}  // namespace fusesmith::backends
