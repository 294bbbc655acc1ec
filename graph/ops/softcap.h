// Soft capping of scores and logits (Gemma 2).
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Softcap {
  double cap = 30;  // rounded to f32 before use

  static constexpr OpInfo info{"softcap",
                               "cap tanh(x / cap); the cap is first rounded to f32; +-inf gives +-cap.", 1, 1,
                               OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{Field{"cap", &Softcap::cap, RealRange{0.01, 10000}}}; }
  bool operator==(const Softcap&) const = default;
};

inline Result<Types> infer(const Softcap&, TypeSpan inputs) { return same_float_type(inputs); }

}  // namespace fusesmith::graph
