// Soft capping of scores and logits (Gemma 2).
#pragma once

#include <algorithm>

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Softcap {
  double cap = 30;  // rounded to f32 before use

  static constexpr OpInfo info{"softcap",
                               "cap tanh(x / cap); the cap is first rounded to f32; +-inf gives +-cap.", 1, 1,
                               OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{Field{"cap", &Softcap::cap, RealRange{0.01, 10000}}}; }
  bool operator==(const Softcap&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto scaling = scaling_rules::unscaled;
  static constexpr auto axis_relations = axis_rules::broadcast;
  Magnitude magnitude(const MagnitudeOperands& x) const {
    return {std::min(x.all.rms, cap), x.all.finite, x.all.one_signed};
  }
  std::optional<Grid> grid(const GridOperands& x) const {
    const auto rounded = static_cast<double>(static_cast<float>(cap));
    if (!grid_rules::saturates(x.in[0], 1 / rounded)) return std::nullopt;
    return Grid{grid_rules::lowest_bit(rounded), rounded};
  }
};

inline Result<Types> infer(const Softcap&, TypeSpan inputs) { return same_float_type(inputs); }

}  // namespace fusesmith::graph
