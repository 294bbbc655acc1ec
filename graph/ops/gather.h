// Embedding: rows of a table.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Gather {
  static constexpr OpInfo info{
      "gather", "table[indices]: rows of the first axis; every index must be known to be in range.", 2, 2,
      OpClass::movement};
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Gather&) const = default;
};

// table [v, ...], indices i32[...] -> [indices..., ...].
inline Result<Types> infer(const Gather&, TypeSpan inputs) {
  const TensorType& table = inputs[0];
  const TensorType& indices = inputs[1];
  if (table.rank() < 1) return expected("a table of rank 1 or more, got " + to_string(table));
  if (indices.dtype != Dtype::i32) return expected("i32 indices, got " + to_string(indices));
  TensorType y{table.dtype, indices.shape};
  y.shape.insert(y.shape.end(), table.shape.begin() + 1, table.shape.end());
  return one(y);
}

}  // namespace fusesmith::graph
