#include "graph/op_fields.h"

namespace fusesmith::graph {

Problem expected(std::string what) { return Problem{"expected " + std::move(what)}; }

Result<Types> one(TensorType type) { return Types{std::move(type)}; }

Result<int> resolve_axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return expected("an axis between " + std::to_string(-rank) + " and " + std::to_string(rank - 1) +
                    ", got " + std::to_string(axis));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::optional<Dtype> product_dtype(Dtype a, Dtype b) {
  if (is_quantized_float(a) && is_quantized_float(b)) return Dtype::f32;
  return is_float(a) && a == b ? std::optional(a) : std::nullopt;
}

Result<Types> same_float_type(TypeSpan inputs) {
  if (!is_float(inputs[0].dtype)) return expected("a float tensor, got " + to_string(inputs[0]));
  return one(inputs[0]);
}

Result<Types> broadcast_float_types(TypeSpan inputs) {
  const TensorType& a = inputs[0];
  const TensorType& b = inputs[1];
  if (!is_float(a.dtype) || a.dtype != b.dtype) {
    return expected("two float tensors of one dtype, got " + to_string(a) + " and " + to_string(b));
  }
  const auto shape = broadcast(a.shape, b.shape);
  if (!shape) return expected("shapes that broadcast, got " + to_string(a) + " and " + to_string(b));
  return one({a.dtype, *shape});
}

}  // namespace fusesmith::graph
