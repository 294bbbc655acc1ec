// Batched matrix product.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Matmul {
  bool transpose_a = false;
  bool transpose_b = false;

  static constexpr OpInfo info{"matmul",
                               "Matrix product over the last two axes, leading axes broadcast; either "
                               "operand may be read transposed; an infinity times 0 is NaN.",
                               2, 2, OpClass::product};
  static constexpr auto fields() {
    return std::tuple{Field{"transpose_a", &Matmul::transpose_a, Free{"read a as [k, m]"}},
                      Field{"transpose_b", &Matmul::transpose_b, Free{"read b as [n, k]"}}};
  }
  bool operator==(const Matmul&) const = default;
};

// a [..., m, k], b [..., k, n] of one float dtype -> [..., m, n].
inline Result<Types> infer(const Matmul& op, TypeSpan inputs) {
  const TensorType& a = inputs[0];
  const TensorType& b = inputs[1];
  const std::string got = ", got " + to_string(a) + " and " + to_string(b);
  if (!is_float(a.dtype) || a.dtype != b.dtype) return expected("two float tensors of one dtype" + got);
  if (a.rank() < 2 || b.rank() < 2) return expected("operands of rank 2 or more" + got);
  const size_t ra = a.shape.size(), rb = b.shape.size();
  const int64_t m = a.shape[ra - (op.transpose_a ? 1 : 2)], ka = a.shape[ra - (op.transpose_a ? 2 : 1)];
  const int64_t kb = b.shape[rb - (op.transpose_b ? 1 : 2)], n = b.shape[rb - (op.transpose_b ? 2 : 1)];
  if (ka != kb) return expected("equal inner dimensions" + got);
  auto batch =
      broadcast(Shape(a.shape.begin(), a.shape.end() - 2), Shape(b.shape.begin(), b.shape.end() - 2));
  if (!batch) return expected("leading axes that broadcast" + got);
  batch->push_back(m);
  batch->push_back(n);
  return one({a.dtype, *batch});
}

}  // namespace fusesmith::graph
