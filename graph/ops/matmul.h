// Batched matrix product.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Matmul {
  bool transpose_a = false;
  bool transpose_b = false;

  static constexpr OpInfo info{
      "matmul",
      "Matrix product over the last two axes; leading axes broadcast; either "
      "operand may be transposed; f32 of quantized floats; an infinity times 0 is NaN.",
      2, 2, OpClass::product};
  static constexpr auto fields() {
    return std::tuple{Field{"transpose_a", &Matmul::transpose_a, Free{"read a as [k, m]"}},
                      Field{"transpose_b", &Matmul::transpose_b, Free{"read b as [n, k]"}}};
  }
  bool operator==(const Matmul&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto magnitude = magnitude_rules::sum_of_products;
  static constexpr auto grid = grid_rules::sum_of_products;
  static constexpr auto scaling = scaling_rules::product;
  Work work(TypeSpan inputs, const TensorType& output) const;
  void axis_relations(AxisRelations& axes) const;
};

inline Work Matmul::work(TypeSpan inputs, const TensorType& output) const {
  const int64_t inner = (inputs[0].shape.end() - (transpose_a ? 2 : 1))[0];
  return {element_count(output) * inner, element_count(output)};
}

inline void Matmul::axis_relations(AxisRelations& axes) const {
  const int rank_a = axes.rank(0), rank_b = axes.rank(1), rank_out = axes.rank(axes.out());
  for (size_t i : {size_t{0}, size_t{1}}) axes.align(i, 2, 2);
  for (int axis = 0; axis < rank_out - 2; ++axis) axes.batch(axis, {rank_a - rank_out, rank_b - rank_out});
  axes.become_row(0, rank_a - (transpose_a ? 1 : 2), rank_out - 2);
  axes.become_row(1, rank_b - (transpose_b ? 2 : 1), rank_out - 1);
  axes.fix(0, rank_a - (transpose_a ? 2 : 1));
  axes.fix(1, rank_b - (transpose_b ? 1 : 2));
}

// a [..., m, k], b [..., k, n] of one float dtype -> [..., m, n]. Quantized floats give f32.
inline Result<Types> infer(const Matmul& op, TypeSpan inputs) {
  const TensorType& a = inputs[0];
  const TensorType& b = inputs[1];
  const std::string got = ", got " + to_string(a) + " and " + to_string(b);
  const auto dtype = product_dtype(a.dtype, b.dtype);
  if (!dtype) return expected("two float tensors of one dtype, or two of quantized floats" + got);
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
  return one({*dtype, *batch});
}

}  // namespace fusesmith::graph
