// An explicit conversion: its rounding may never be skipped.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Cast {
  Dtype dtype = Dtype::f32;

  static constexpr OpInfo info{
      "cast",
      "x rounded to the float dtype, to nearest even; what lies beyond the dtype becomes an infinity.", 1, 1,
      OpClass::pointwise};
  static constexpr auto fields() {
    return std::tuple{Field{"dtype", &Cast::dtype, Free{"f32, f16 or bf16"}, true}};
  }
  bool operator==(const Cast&) const = default;
};

inline Result<Types> infer(const Cast& op, TypeSpan inputs) {
  if (!is_float(op.dtype)) return expected("dtype f32, f16 or bf16, got " + std::string(name(op.dtype)));
  return one({op.dtype, inputs[0].shape});
}

}  // namespace fusesmith::graph
