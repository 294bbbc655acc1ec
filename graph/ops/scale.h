// x * factor, or x / factor: a tensor times a number, as frameworks do it with a Python scalar.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Scale {
  double factor = 1;     // rounded to f32 before use
  bool inverse = false;  // divide by the factor instead

  static constexpr OpInfo info{
      "scale",
      "x * factor (x / factor if inverse); the factor is first rounded to f32; an infinity times 0 is NaN.",
      1, 1, OpClass::pointwise};
  static constexpr auto fields() {
    return std::tuple{Field{"factor", &Scale::factor, RealRange{-1e30, 1e30}, true},
                      Field{"inverse", &Scale::inverse, Free{"divide by the factor"}}};
  }
  bool operator==(const Scale&) const = default;
};

inline Result<Types> infer(const Scale& op, TypeSpan inputs) {
  if (op.inverse && static_cast<float>(op.factor) == 0)
    return expected("a factor that is not 0 when inverse");
  return same_float_type(inputs);
}

}  // namespace fusesmith::graph
